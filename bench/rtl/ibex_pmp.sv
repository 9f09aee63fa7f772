// Physical memory protection by RISC-V's privileged specification 1.12, replacing Ibex's own
// module. That one computes each bit of each range's mask separately: parallel in gates, but one
// after the other in the model, where it takes more than half of the time. Protection takes no
// cycles, so the timing is the same. Not implemented: Smepmp (its registers have no effect).
module ibex_pmp import ibex_pkg::*; #(
  parameter int unsigned DmBaseAddr     = 0,
  parameter int unsigned DmAddrMask     = 0,
  parameter int unsigned PMPGranularity = 0,
  parameter int unsigned PMPNumChan     = 2,
  parameter int unsigned PMPNumRegions  = 4
) (
  input  pmp_cfg_t     csr_pmp_cfg_i     [PMPNumRegions],
  input  logic [33:0]  csr_pmp_addr_i    [PMPNumRegions],
  input  pmp_mseccfg_t csr_pmp_mseccfg_i,
  input  logic         debug_mode_i,
  input  priv_lvl_e    priv_mode_i       [PMPNumChan],
  input  logic [33:0]  pmp_req_addr_i    [PMPNumChan],
  input  pmp_req_e     pmp_req_type_i    [PMPNumChan],
  output logic         pmp_req_err_o     [PMPNumChan]
);
  // The significant bits of an address in a naturally aligned range: those above the register's
  // lowest zero.
  function automatic logic [31:0] mask(input pmp_cfg_mode_e mode, input logic [31:0] register);
    return mode == PMP_MODE_NAPOT ? ~(register ^ (register + 32'd1)) : '1;
  endfunction

  for (genvar c = 0; c < PMPNumChan; c++) begin : channels
    wire [31:0] word  = pmp_req_addr_i[c][33:2];
    wire machine      = priv_mode_i[c] == PRIV_LVL_M;
    wire debug_access = debug_mode_i && (pmp_req_addr_i[c][31:0] & ~DmAddrMask) == DmBaseAddr;
    logic [PMPNumRegions-1:0] hits, forbids;
    for (genvar r = 0; r < PMPNumRegions; r++) begin : regions
      wire [31:0] register = csr_pmp_addr_i[r][33:2];
      wire [31:0] below    = r == 0 ? '0 : csr_pmp_addr_i[r == 0 ? 0 : r - 1][33:2];
      assign hits[r] = csr_pmp_cfg_i[r].mode == PMP_MODE_TOR ? word >= below && word < register
                          : csr_pmp_cfg_i[r].mode != PMP_MODE_OFF
                            && ((word ^ register) & mask(csr_pmp_cfg_i[r].mode, register)) == '0;
      assign forbids[r] = !(machine && !csr_pmp_cfg_i[r].lock)
                          && !(pmp_req_type_i[c] == PMP_ACC_EXEC ? csr_pmp_cfg_i[r].exec
                               : pmp_req_type_i[c] == PMP_ACC_WRITE ? csr_pmp_cfg_i[r].write
                               : csr_pmp_cfg_i[r].read);
    end
    // The lowest matching range decides. Without a match, only machine mode has access.
    wire [PMPNumRegions-1:0] lowest = hits & (~hits + 1'b1);
    assign pmp_req_err_o[c] = !debug_access && (hits == '0 ? !machine : (lowest & forbids) != '0);
  end
  wire unused = ^csr_pmp_mseccfg_i;
endmodule

// OpenHW's CVA6: RV64IMAC with Sv39, 16-entry TLBs with ASIDs, a write-back data cache of 32 KiB
// and an instruction cache of 16 KiB, without a floating-point unit.
package core_pkg;
  typedef ariane_axi::req_t  request_t;
  typedef ariane_axi::resp_t response_t;

  // The debug ROM of `debug.sv` for a core with caches. It writes the data cache back
  // first, so that the probe sees what the program has stored, and the program what the probe has.
  function automatic logic [63:0] rom(input logic [3:0] pair);
    case (pair)
      0: return {32'h00a0_2023, 32'h0ff0_000f};  // fence; sw a0, Operation(x0)
      1: return {32'h00a0_2223, 32'h7b10_2573};  // csrr a0, dpc; sw a0, StoppedAt(x0)
      2: return {32'h00c0_6503, 32'h00b0_2423};  // sw a1, Argument(x0); lwu a0, GoOnAt(x0)
      3: return {32'h0000_a537, 32'h7b15_1073};  // csrw dpc, a0; lui a0, 10: ebreakm, ebreaks
      4: return {32'h0100_2503, 32'h7b05_2073};  // csrs dcsr, a0; lw a0, Answer(x0)
      5: return {32'h0000_006f, 32'h7b20_0073};  // dret; j .
      default: return {2{32'h0000_006f}};        // j .
    endcase
  endfunction
endpackage

module core import ariane_pkg::*; (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  output core_pkg::request_t   request_o,
  input  core_pkg::response_t  response_i,
  input  logic                 software_irq_i,
  input  logic                 external_irq_i,
  input  logic                 debug_req_i,
  output logic                 sleep_o
);
  // Memory is cached and executed, and so is, uncached, the page of the debug ROM. Devices are
  // neither.
  localparam ariane_cfg_t Config = '{
    RASDepth: 2, BTBEntries: 32, BHTEntries: 128,
    NrNonIdempotentRules: 1,
    NonIdempotentAddrBase: '0, NonIdempotentLength: 1024'(64'h8000_0000),
    NrExecuteRegionRules: 2,
    ExecuteRegionAddrBase: 1024'({64'h8000_0000, 64'h0}),
    ExecuteRegionLength: 1024'({64'h4000_0000, 64'h1000}),
    NrCachedRegionRules: 1,
    CachedRegionAddrBase: 1024'(64'h8000_0000), CachedRegionLength: 1024'(64'h4000_0000),
    AxiCompliant: 1'b1, SwapEndianess: 1'b0, DmBaseAddress: 64'h0, NrPMPEntries: 8
  };
  cva6 #(.ArianeCfg(Config)) cva6 (
    .clk_i, .rst_ni, .boot_addr_i(64'h8000_0000), .hart_id_i('0),
    // The board's controller has one context, the supervisor's.
    .irq_i({external_irq_i, 1'b0}), .ipi_i(software_irq_i), .time_irq_i(1'b0), .debug_req_i,
    .cvxif_req_o(), .cvxif_resp_i('0), .axi_req_o(request_o), .axi_resp_i(response_i)
  );
  assign sleep_o = cva6.csr_regfile_i.wfi_q;
endmodule

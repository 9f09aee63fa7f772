// OpenHW's CVA6: RV64IMAC with Sv39, 16-entry TLBs with ASIDs, a write-back data cache of 32 KiB
// and an instruction cache of 16 KiB, without a floating-point unit.
module core import ariane_pkg::*; (
  input  logic              clk_i,
  input  logic              rst_ni,
  output ariane_axi::req_t  request_o,
  input  ariane_axi::resp_t response_i,
  input  logic              software_irq_i,
  input  logic              external_irq_i,
  input  logic              debug_req_i,
  output logic              sleep_o
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

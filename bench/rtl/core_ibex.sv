// lowRISC's Ibex, in its configurations `small` and, with IBEX_WB, `maxperf`.
module core import ibex_pkg::*; (
  input  logic        clk_i,
  input  logic        rst_ni,
  output logic        fetch_req_o,
  input  logic        fetch_gnt_i,
  input  logic        fetch_rvalid_i,
  output logic [31:0] fetch_addr_o,
  input  logic [31:0] fetch_rdata_i,
  input  logic        fetch_err_i,
  output logic        data_req_o,
  input  logic        data_rvalid_i,
  output logic        data_we_o,
  output logic [3:0]  data_be_o,
  output logic [31:0] data_addr_o,
  output logic [31:0] data_wdata_o,
  input  logic [31:0] data_rdata_i,
  input  logic        data_err_i,
  input  logic        software_irq_i,
  input  logic        external_irq_i,
  input  logic        debug_req_i,
  output logic        sleep_o,
  output logic        retires_o,
  output logic        retires_entry_o,
  output logic [31:0] retires_pc_o
);
`ifdef IBEX_WB
  localparam bit Fast = 1'b1;
`else
  localparam bit Fast = 1'b0;
`endif
  ibex_top #(
    .PMPEnable(1'b1), .RV32M(Fast ? RV32MSingleCycle : RV32MFast), .BranchTargetALU(Fast),
    .WritebackStage(Fast),
    .DmHaltAddr(32'h0000_0800), .DmExceptionAddr(32'h0000_0880)
  ) ibex (
    .clk_i, .rst_ni, .test_en_i(1'b0), .ram_cfg_i('0), .hart_id_i('0), .boot_addr_i('0),
    .instr_req_o(fetch_req_o), .instr_gnt_i(fetch_gnt_i), .instr_rvalid_i(fetch_rvalid_i),
    .instr_addr_o(fetch_addr_o),
    .instr_rdata_i(fetch_rdata_i), .instr_rdata_intg_i('0), .instr_err_i(fetch_err_i),
    .data_req_o, .data_gnt_i(data_req_o), .data_rvalid_i, .data_we_o, .data_be_o, .data_addr_o,
    .data_wdata_o,
    .data_wdata_intg_o(), .data_rdata_i, .data_rdata_intg_i('0), .data_err_i,
    .irq_software_i(software_irq_i), .irq_timer_i(1'b0), .irq_external_i(external_irq_i),
    .irq_fast_i('0), .irq_nm_i(1'b0),
    .scramble_key_valid_i('0), .scramble_key_i('0), .scramble_nonce_i('0), .scramble_req_o(),
    .debug_req_i, .crash_dump_o(), .double_fault_seen_o(), .fetch_enable_i(IbexMuBiOn),
    .alert_minor_o(),
    .alert_major_internal_o(), .alert_major_bus_o(), .core_sleep_o(sleep_o), .scan_rst_ni(1'b1)
  );

  // An instruction retires when it leaves the decode and execute stage: the same signals as Ibex's
  // RVFI, whose other state would slow the model. No instruction of the program retires in debug
  // mode.
  logic enters_q;
  wire enters = ibex.u_ibex_core.pc_set && ibex.u_ibex_core.pc_mux_id == PC_EXC
                && ibex.u_ibex_core.exc_pc_mux_id == EXC_PC_IRQ;
  assign retires_o       = ibex.u_ibex_core.instr_id_done && !ibex.u_ibex_core.debug_mode;
  assign retires_entry_o = retires_o && enters_q;
  assign retires_pc_o    = ibex.u_ibex_core.pc_id;
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) enters_q <= 1'b0;
    else if (enters) enters_q <= 1'b1;
    else if (retires_o) enters_q <= 1'b0;
endmodule

// The clock is not gated during sleep, so that mcycle counts. The core does nothing else then, and
// wakes in the same cycle.
module prim_clock_gating (
  input        clk_i,
  input        en_i,
  input        test_en_i,
  output logic clk_o
);
  assign clk_o = clk_i;
  wire unused = en_i | test_en_i;
endmodule

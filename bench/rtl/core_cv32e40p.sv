// OpenHW's CV32E40P, without its extensions and its floating-point unit.
module core import cv32e40p_pkg::*; (
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
  cv32e40p_top cv32e40p (
    .clk_i, .rst_ni, .pulp_clock_en_i(1'b1), .scan_cg_en_i(1'b0), .boot_addr_i('0),
    .mtvec_addr_i('0),
    .dm_halt_addr_i(32'h0000_0800), .hart_id_i('0), .dm_exception_addr_i(32'h0000_0880),
    .instr_req_o(fetch_req_o), .instr_gnt_i(fetch_gnt_i), .instr_rvalid_i(fetch_rvalid_i),
    .instr_addr_o(fetch_addr_o),
    .instr_rdata_i(fetch_rdata_i),
    .data_req_o, .data_gnt_i(data_req_o), .data_rvalid_i, .data_we_o, .data_be_o, .data_addr_o,
    .data_wdata_o, .data_rdata_i,
    .irq_i({20'b0, external_irq_i, 7'b0, software_irq_i, 3'b0}), .irq_ack_o(), .irq_id_o(),
    .debug_req_i, .debug_havereset_o(), .debug_running_o(), .debug_halted_o(),
    .fetch_enable_i(1'b1), .core_sleep_o(sleep_o)
  );
  // This core's buses have no error signal: reading an address without a device yields any value.
  wire unused = fetch_err_i | data_err_i;

  // As on Ibex, an instruction retires when it leaves the decode stage; this core executes it in
  // the next one. The core counts instructions by the same signal.
  logic enters_q;
  wire enters = cv32e40p.core_i.pc_set && cv32e40p.core_i.pc_mux_id == PC_EXCEPTION
                && cv32e40p.core_i.exc_pc_mux_id == EXC_PC_IRQ;
  assign retires_o       = cv32e40p.core_i.id_stage_i.minstret && !cv32e40p.core_i.debug_mode;
  assign retires_entry_o = retires_o && enters_q;
  assign retires_pc_o    = cv32e40p.core_i.pc_id;
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) enters_q <= 1'b0;
    else if (enters) enters_q <= 1'b1;
    else if (retires_o) enters_q <= 1'b0;
endmodule

// The clock is not gated during sleep, so that mcycle counts. The core does nothing else then, and
// wakes in the same cycle.
module cv32e40p_clock_gate (
  input  logic clk_i,
  input  logic en_i,
  input  logic scan_cg_en_i,
  output logic clk_o
);
  assign clk_o = clk_i;
  wire unused = en_i | scan_cg_en_i;
endmodule

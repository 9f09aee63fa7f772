// The bench board around a core of 64 bits with caches and supervisor mode: the devices of `bench.sv`
// behind one bus, at the same addresses. The core's package `core_pkg` has the signals of its bus and
// its debug ROM. See docs/machines/bench.md.
module bench (
  input  logic        clk_i,
  input  logic        rst_ni,
  // Parameters of the board
  input  logic [2:0]  wait_states_i,
  input  logic [31:0] hertz_i,
  input  logic [31:0] seed_i,
  // Idle skip: cycles to add to the time at the next edge
  input  logic [63:0] skip_i,
  // The alarm becomes due at the next edge
  input  logic        arrive_i,
  output logic [63:0] time_o,
  output logic [63:0] due_o,
  // The debug probe
  output logic [31:0] operation_o,
  output logic [31:0] argument_o,
  output logic [31:0] stopped_at_o,
  input  logic [31:0] go_on_at_i,
  input  logic [31:0] answer_i,
  // Signals that may change in every cycle; src/model.rs names the bits
  output logic [15:0] watch_o,
  output logic [31:0] retired_pc_o
);
  core_pkg::request_t  request;
  core_pkg::response_t response;
  logic software_irq, external_irq, debug_req, sleep;
  core core (
    .clk_i, .rst_ni, .request_o(request), .response_i(response),
    .software_irq_i(software_irq), .external_irq_i(external_irq), .debug_req_i(debug_req),
    .sleep_o(sleep)
  );

  logic        req, we;
  logic [31:0] addr, wdata, rdata;
  memory memory (
    .clk_i, .rst_ni, .wait_states_i, .request_i(request), .response_o(response),
    .register_req_o(req), .register_we_o(we), .register_addr_o(addr), .register_wdata_o(wdata),
    .register_rdata_i(at_rom ? core_pkg::rom(addr[6:3]) : {2{rdata}})
  );

  // ---- the time: cycles since reset, and the next event due
  logic [63:0] now, next_now, alarm_due, stimulus_due;
  assign next_now = now + 64'd1 + skip_i;
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) now <= '0;
    else now <= next_now;
  assign time_o = now;
  assign due_o  = alarm_due < stimulus_due ? alarm_due : stimulus_due;

  // ---- devices
  wire at_rom      = addr[31:11] == 21'h000001;
  wire at_debug    = addr[31:11] == 21'h000000;
  wire at_rtc      = addr[31:12] == 20'h00101;
  wire at_bench    = addr[31:12] == 20'h02003;
  wire at_software = addr == 32'h0200_0000;
  wire at_plic     = addr[31:24] == 8'h0c;
  logic [31:0] debug_rdata, rtc_rdata, bench_rdata, plic_rdata;
  logic        alarm_line, stimulus_line;
  debug debug (
    .clk_i, .rst_ni, .we_i(we && at_debug), .addr_i(addr[11:0]), .wdata_i(wdata),
    .rdata_o(debug_rdata), .fetch_addr_i('0), .fetch_rdata_o(),
    .debug_req_o(debug_req), .call_o(watch_o[10]), .operation_o, .argument_o, .stopped_at_o,
    .go_on_at_i, .answer_i
  );
  rtc rtc (
    .clk_i, .rst_ni, .now_i(now), .next_now_i(next_now), .arrive_i, .req_i(req && at_rtc),
    .we_i(we), .addr_i(addr[4:2]), .wdata_i(wdata), .rdata_o(rtc_rdata), .due_o(alarm_due),
    .line_o(alarm_line)
  );
  bench_registers bench_registers (
    .clk_i, .rst_ni, .next_now_i(next_now), .hertz_i, .seed_i, .we_i(we && at_bench),
    .addr_i(addr[5:2]), .wdata_i(wdata), .rdata_o(bench_rdata), .pins_o(watch_o[7:0]),
    .due_o(stimulus_due), .line_o(stimulus_line)
  );
  plic #(.Context(1)) plic (
    .clk_i, .rst_ni, .alarm_i(alarm_line), .stimulus_i(stimulus_line), .req_i(req && at_plic),
    .we_i(we), .addr_i(addr[23:0]), .wdata_i(wdata), .rdata_o(plic_rdata), .irq_o(external_irq)
  );
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) software_irq <= 1'b0;
    else if (we && at_software) software_irq <= wdata[0];
  assign rdata = at_debug ? debug_rdata : at_rtc ? rtc_rdata : at_bench ? bench_rdata
               : at_plic ? plic_rdata : {31'b0, at_software && software_irq};

  assign watch_o[8]     = stimulus_line;
  assign watch_o[9]     = sleep;
  // Two instructions may retire in a cycle of CVA6: the instruments that follow each are not offered.
  assign watch_o[15:11] = '0;
  assign retired_pc_o   = '0;
endmodule

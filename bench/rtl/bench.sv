// The bench board: one core, and those devices of QEMU's `virt` that the machine rv32 uses, at the
// same addresses. See the drawing in docs/machines/bench.md.
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
  // ---- the core and its two buses
  logic        fetch_req, fetch_gnt, fetch_rvalid, fetch_err;
  logic [31:0] fetch_addr, fetch_rdata;
  logic        data_req, data_we, data_rvalid, data_err;
  logic [3:0]  data_be;
  logic [31:0] data_addr, data_wdata, data_rdata;
  logic        software_irq, external_irq, debug_req, sleep;
  logic        retires, retires_entry;
  logic [31:0] retires_pc;

  core core (
    .clk_i, .rst_ni,
    .fetch_req_o(fetch_req), .fetch_gnt_i(fetch_gnt), .fetch_rvalid_i(fetch_rvalid),
    .fetch_addr_o(fetch_addr),
    .fetch_rdata_i(fetch_rdata), .fetch_err_i(fetch_err),
    .data_req_o(data_req), .data_rvalid_i(data_rvalid), .data_we_o(data_we), .data_be_o(data_be),
    .data_addr_o(data_addr),
    .data_wdata_o(data_wdata), .data_rdata_i(data_rdata), .data_err_i(data_err),
    .software_irq_i(software_irq), .external_irq_i(external_irq), .debug_req_i(debug_req),
    .sleep_o(sleep),
    .retires_o(retires), .retires_entry_o(retires_entry), .retires_pc_o(retires_pc)
  );

  // ---- the time: cycles since reset, and the next event due
  logic [63:0] now, next_now, alarm_due, stimulus_due;
  assign next_now = now + 64'd1 + skip_i;
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) now <= '0;
    else now <= next_now;
  assign time_o = now;
  assign due_o  = alarm_due < stimulus_due ? alarm_due : stimulus_due;

  // ---- address decoding
  wire at_debug    = data_addr[31:12] == 20'h00000;
  wire at_rtc      = data_addr[31:12] == 20'h00101;
  wire at_aclint   = data_addr[31:16] == 16'h0200;
  wire at_bench    = data_addr[31:12] == 20'h02003;
  wire at_plic     = data_addr[31:24] == 8'h0c;
  wire [31:0] memory_rdata, debug_rdata, rtc_rdata, bench_rdata, plic_rdata;
  wire memory_err, fetch_memory_err;

  // ---- instructions: from the memory, or from the debug ROM while the probe has stopped the core
  logic [31:0] rom_rdata, fetch_memory_rdata;
  logic        fetch_rom_q;
  wire         fetch_rom = fetch_addr[31:12] == 20'h00000;
  always_ff @(posedge clk_i) if (fetch_req && fetch_gnt) fetch_rom_q <= fetch_rom;
  assign fetch_rdata = fetch_rom_q ? rom_rdata : fetch_memory_rdata;
  assign fetch_err   = !fetch_rom_q && fetch_memory_err;

  memory memory (
    .clk_i, .rst_ni, .wait_states_i,
    .fetch_req_i(fetch_req), .fetch_ideal_i(fetch_rom), .fetch_addr_i(fetch_addr),
    .fetch_gnt_o(fetch_gnt),
    .fetch_rvalid_o(fetch_rvalid), .fetch_rdata_o(fetch_memory_rdata),
    .fetch_err_o(fetch_memory_err),
    .we_i(data_req && data_we), .be_i(data_be), .addr_i(data_addr), .wdata_i(data_wdata),
    .rdata_o(memory_rdata),
    .err_o(memory_err)
  );

  // ---- devices: a register is accessed in the cycle of the request, and answers in the next
  debug debug (
    .clk_i, .rst_ni, .we_i(data_req && data_we && at_debug), .addr_i(data_addr[11:0]),
    .wdata_i(data_wdata), .rdata_o(debug_rdata),
    .fetch_addr_i(fetch_addr[7:2]), .fetch_rdata_o(rom_rdata),
    .debug_req_o(debug_req), .call_o(watch_o[10]), .operation_o, .argument_o, .stopped_at_o,
    .go_on_at_i, .answer_i
  );

  logic alarm_line, stimulus_line;
  rtc rtc (
    .clk_i, .rst_ni, .now_i(now), .next_now_i(next_now), .arrive_i, .req_i(data_req && at_rtc),
    .we_i(data_we), .addr_i(data_addr[4:2]),
    .wdata_i(data_wdata), .rdata_o(rtc_rdata), .due_o(alarm_due), .line_o(alarm_line)
  );
  bench_registers bench_registers (
    .clk_i, .rst_ni, .next_now_i(next_now), .hertz_i, .seed_i,
    .we_i(data_req && data_we && at_bench), .addr_i(data_addr[5:2]),
    .wdata_i(data_wdata), .rdata_o(bench_rdata), .pins_o(watch_o[7:0]), .due_o(stimulus_due),
    .line_o(stimulus_line)
  );
  plic plic (
    .clk_i, .rst_ni, .alarm_i(alarm_line), .stimulus_i(stimulus_line), .req_i(data_req && at_plic),
    .we_i(data_we),
    .addr_i(data_addr[23:0]), .wdata_i(data_wdata), .rdata_o(plic_rdata), .irq_o(external_irq)
  );
  // Of ACLINT, only the software interrupt: the timer is the real-time clock, as on rv32.
  wire at_software = at_aclint && data_addr[15:0] == 16'h0000;
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) software_irq <= 1'b0;
    else if (data_req && data_we && at_software) software_irq <= data_wdata[0];

  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      data_rvalid <= 1'b0;
      data_err    <= 1'b0;
      data_rdata  <= '0;
    end else begin
      data_rvalid <= data_req;
      if (data_req) begin
        data_err   <= memory_err && !at_debug && !at_rtc && !at_aclint && !at_plic;
        data_rdata <= at_debug ? debug_rdata : at_rtc ? rtc_rdata : at_bench ? bench_rdata
                    : at_plic ? plic_rdata
                    : at_aclint ? {31'b0, at_software && software_irq} : memory_rdata;
      end
    end

  // ---- signals for the instruments. A retirement is visible in the cycle after, as with RVFI.
  logic retired_q, entry_q;
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      retired_q    <= 1'b0;
      entry_q      <= 1'b0;
      retired_pc_o <= '0;
    end else begin
      retired_q <= retires;
      entry_q   <= retires_entry;
      if (retires) retired_pc_o <= retires_pc;
    end
  assign watch_o[8]     = stimulus_line;
  assign watch_o[9]     = sleep;
  assign watch_o[11]    = retired_q;
  assign watch_o[12]    = entry_q;
  assign watch_o[13]    = alarm_line;
  assign watch_o[14]    = external_irq;
  assign watch_o[15]    = 1'b0;
endmodule

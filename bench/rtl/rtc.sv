// The real-time clock of QEMU's `virt` ("goldfish"): time and an alarm. One cycle counts as a
// nanosecond. The host can have the alarm be due at once.
module rtc (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [63:0] now_i,
  input  logic [63:0] next_now_i,
  input  logic        arrive_i,
  input  logic        req_i,
  input  logic        we_i,
  input  logic [2:0]  addr_i,
  input  logic [31:0] wdata_i,
  output logic [31:0] rdata_o,
  output logic [63:0] due_o,
  output logic        line_o
);
  localparam logic [2:0] TimeLow = 0, TimeHigh = 1, AlarmLow = 2, AlarmHigh = 3, InterruptOn = 4,
    ClearAlarm = 5, AlarmIsSet = 6,
    ClearInterrupt = 7;
  logic [63:0] alarm;
  logic [31:0] time_high;
  logic        is_set, on, pending;

  assign due_o  = is_set ? alarm : '1;
  assign line_o = pending && on;
  always_comb
    case (addr_i)
      TimeLow:     rdata_o = now_i[31:0];
      TimeHigh:    rdata_o = time_high;
      AlarmLow:    rdata_o = alarm[31:0];
      AlarmHigh:   rdata_o = alarm[63:32];
      InterruptOn: rdata_o = {31'b0, on};
      AlarmIsSet:  rdata_o = {31'b0, is_set};
      default:     rdata_o = '0;
    endcase

  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      alarm     <= '0;
      time_high <= '0;
      is_set    <= 1'b0;
      on        <= 1'b0;
      pending   <= 1'b0;
    end else begin
      if (is_set && next_now_i >= alarm) begin
        is_set  <= 1'b0;
        pending <= 1'b1;
      end
      if (arrive_i) pending <= 1'b1;
      if (req_i && !we_i && addr_i == TimeLow) time_high <= now_i[63:32];
      if (req_i && we_i) case (addr_i)
        AlarmLow: begin
          alarm[31:0] <= wdata_i;
          is_set      <= 1'b1;
        end
        AlarmHigh:      alarm[63:32] <= wdata_i;
        InterruptOn:    on <= wdata_i[0];
        ClearAlarm:     is_set <= 1'b0;
        ClearInterrupt: pending <= 1'b0;
        default: ;
      endcase
    end
endmodule

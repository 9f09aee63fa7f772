// The bench's own registers, in a part of ACLINT's region where QEMU reads 0 and ignores writes:
// the clock rate, pins for the logic analyser, and an external interrupt line that rises at a time
// not known to the program to the cycle.
module bench_registers (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [63:0] next_now_i,
  input  logic [31:0] hertz_i,
  input  logic [31:0] seed_i,
  input  logic        we_i,
  input  logic [3:0]  addr_i,
  input  logic [31:0] wdata_i,
  output logic [31:0] rdata_o,
  output logic [7:0]  pins_o,
  output logic [63:0] due_o,
  output logic        line_o
);
  localparam logic [3:0] Hertz = 0, PinSet = 4, PinClear = 5, StimulusHigh = 8, StimulusLow = 9,
    FiredLow = 10, FiredHigh = 11,
    StimulusAck = 12;
  logic [31:0] due_high, random;
  logic [63:0] rise, fired;
  logic        armed;

  function automatic logic [31:0] xorshift(input logic [31:0] state);
    logic [31:0] a, b;
    a = state ^ (state << 13);
    b = a ^ (a >> 17);
    return b ^ (b << 5);
  endfunction

  assign due_o = armed ? rise : '1;
  always_comb
    case (addr_i)
      Hertz:     rdata_o = hertz_i;
      FiredLow:  rdata_o = fired[31:0];
      FiredHigh: rdata_o = fired[63:32];
      default:   rdata_o = '0;
    endcase

  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      pins_o   <= '0;
      line_o   <= 1'b0;
      armed    <= 1'b0;
      due_high <= '0;
      rise     <= '0;
      fired    <= '0;
      random   <= seed_i;
    end else begin
      if (armed && next_now_i >= rise) begin
        armed  <= 1'b0;
        line_o <= 1'b1;
        fired  <= next_now_i;
      end
      if (we_i) case (addr_i)
        PinSet:       pins_o <= pins_o | wdata_i[7:0];
        PinClear:     pins_o <= pins_o & ~wdata_i[7:0];
        StimulusHigh: due_high <= wdata_i;
        StimulusLow: begin
          rise   <= {due_high, wdata_i} + 64'(random[31:24]);
          random <= xorshift(random);
          armed  <= 1'b1;
        end
        StimulusAck:  line_o <= 1'b0;
        default: ;
      endcase
    end
endmodule

// The platform-level interrupt controller: two level-triggered sources, one target. A source that
// has been claimed is masked until it is completed. Inputs reach the output in the same cycle.
module plic #(
  // The number of the target's context: machine mode 0, supervisor mode 1.
  parameter int unsigned Context = 0
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        alarm_i,
  input  logic        stimulus_i,
  input  logic        req_i,
  input  logic        we_i,
  input  logic [23:0] addr_i,
  input  logic [31:0] wdata_i,
  output logic [31:0] rdata_o,
  output logic        irq_o
);
  localparam int unsigned Alarm = 11, Stimulus = 12;
  localparam logic [23:0] AlarmPriority = 24'(4 * Alarm), StimulusPriority = 24'(4 * Stimulus),
    Pending = 24'h001000, Enabled = 24'(32'h002000 + 32'h80 * Context),
    Threshold = 24'(32'h200000 + 32'h1000 * Context), Claim = 24'(32'h200004 + 32'h1000 * Context);
  logic [2:0] priority_a, priority_s, threshold;
  logic       on_a, on_s, claimed_a, claimed_s;

  wire waits_a = alarm_i && !claimed_a;
  wire waits_s = stimulus_i && !claimed_s;
  wire asks_a  = waits_a && on_a && priority_a > threshold;
  wire asks_s  = waits_s && on_s && priority_s > threshold;
  // Of two equal priorities, the lower number comes first.
  wire a_first = asks_a && !(asks_s && priority_s > priority_a);
  wire [31:0] first = a_first ? Alarm : asks_s ? Stimulus : 0;
  assign irq_o = asks_a || asks_s;

  always_comb
    case (addr_i)
      AlarmPriority:    rdata_o = 32'(priority_a);
      StimulusPriority: rdata_o = 32'(priority_s);
      Pending:          rdata_o = 32'(waits_a) << Alarm | 32'(waits_s) << Stimulus;
      Enabled:          rdata_o = 32'(on_a) << Alarm | 32'(on_s) << Stimulus;
      Threshold:        rdata_o = 32'(threshold);
      Claim:            rdata_o = first;
      default:          rdata_o = '0;
    endcase

  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      {priority_a, priority_s, threshold}      <= '0;
      {on_a, on_s, claimed_a, claimed_s} <= '0;
    end else if (req_i && we_i) case (addr_i)
      AlarmPriority:    priority_a <= wdata_i[2:0];
      StimulusPriority: priority_s <= wdata_i[2:0];
      Enabled:          {on_s, on_a} <= {wdata_i[Stimulus], wdata_i[Alarm]};
      Threshold:        threshold <= wdata_i[2:0];
      Claim: begin
        if (wdata_i == Alarm) claimed_a <= 1'b0;
        if (wdata_i == Stimulus) claimed_s <= 1'b0;
      end
      default: ;
    endcase else if (req_i && addr_i == Claim) begin
      if (first == Alarm) claimed_a <= 1'b1;
      if (first == Stimulus) claimed_s <= 1'b1;
    end
endmodule

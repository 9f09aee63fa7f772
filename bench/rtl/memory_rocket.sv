// The memory and the bus of Rocket's tile: 32 MiB at 0x8000_0000 in words of 64 bits, and the way to
// registers of 32 bits at other addresses. One request and one line written back at a time.
//
// The program's registers show the same 32 bits in both halves of a word; the debug ROM has 64.
//
// A burst that the tile reads takes `wait_states_i` cycles, then one for each word. A register is
// accessed in one cycle and answers in the next.
module memory (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic [2:0]           wait_states_i,
  input  core_pkg::request_t   request_i,
  output core_pkg::response_t  response_o,

  output logic                 register_req_o,
  output logic                 register_we_o,
  output logic [31:0]          register_addr_o,
  output logic [31:0]          register_wdata_o,
  input  logic [63:0]          register_rdata_i
);
  localparam int unsigned Words = 32 * 1024 * 1024 / 8;
  logic [63:0] words [Words] /* verilator public_flat_rd */;

  // Opcodes of TileLink, by channel.
  localparam logic [2:0] PutFull = 0, PutPartial = 1, Get = 4, AcquireBlock = 6;
  localparam logic [2:0] ReleaseData = 7;
  localparam logic [2:0] AccessAck = 0, AccessAckData = 1, Grant = 4, GrantData = 5, ReleaseAck = 6;

  function automatic logic in_memory(input logic [31:0] address);
    return address[31:25] == 7'h40;
  endfunction
  function automatic logic [21:0] index(input logic [31:0] address);
    return address[24:3];
  endfunction
  // The number of a burst's last word. The tile asks for 64 bytes at most.
  function automatic logic [2:0] last_of(input logic [3:0] size);
    return size <= 3 ? 3'd0 : 3'((1 << (size - 3)) - 1);
  endfunction

  // ---- lines written back
  logic       releases;
  logic [2:0] release_beat;
  logic [3:0] release_size;
  logic [1:0] release_source;
  wire        release_fire = request_i.c_valid && !releases;
  wire        release_data = request_i.c_opcode == ReleaseData;
  wire [31:0] release_at   = {request_i.c_address[31:6], request_i.c_address[5:3] | release_beat, 3'b0};
  wire        release_last = !release_data || release_beat == last_of(request_i.c_size);

  // ---- requests
  logic        busy, device;
  logic [2:0]  opcode, beat, waited;
  logic [3:0]  size;
  logic [1:0]  source;
  logic [31:0] address;
  logic [63:0] register_q;
  wire        request_fire = request_i.a_valid && !busy;
  wire        request_put  = request_i.a_opcode == PutFull || request_i.a_opcode == PutPartial;
  wire        reads        = opcode == Get || opcode == AcquireBlock;
  wire [2:0]  last_beat    = reads ? last_of(size) : 3'd0;
  wire        ready        = device || !reads || beat != 0 || waited >= wait_states_i;

  // ---- answers: nothing comes between the words of a burst
  wire        acknowledges = releases && beat == 0;
  wire        answers      = busy && ready && !acknowledges;
  wire        answer_fire  = answers && request_i.d_ready;
  wire [31:0] at           = {address[31:6], address[5:3] | beat, 3'b0};
  wire [31:0] next_at      = {address[31:6], address[5:3] | (beat + 3'd1), 3'b0};

  always_comb begin
    response_o.a_ready  = !busy;
    response_o.c_ready  = !releases;
    response_o.d_valid  = acknowledges || answers;
    response_o.d_size   = acknowledges ? release_size : size;
    response_o.d_source = acknowledges ? release_source : source;
    response_o.d_data   = device ? register_q : words[index(at)];
    if (acknowledges) response_o.d_opcode = ReleaseAck;
    else case (opcode)
      AcquireBlock:        response_o.d_opcode = GrantData;
      Get:                 response_o.d_opcode = AccessAckData;
      PutFull, PutPartial: response_o.d_opcode = AccessAck;
      default:             response_o.d_opcode = Grant;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      {releases, release_beat, release_size, release_source} <= '0;
      {busy, device, opcode, beat, waited, size, source, address, register_q} <= '0;
    end else begin
      if (acknowledges && request_i.d_ready) releases <= 1'b0;
      if (release_fire) begin
        release_beat <= release_last ? 3'd0 : release_beat + 3'd1;
        if (release_last) begin
          releases       <= 1'b1;
          release_size   <= request_i.c_size;
          release_source <= request_i.c_source;
        end
      end
      if (request_fire) begin
        busy       <= 1'b1;
        device     <= !in_memory(request_i.a_address);
        opcode     <= request_i.a_opcode;
        size       <= request_i.a_size;
        source     <= request_i.a_source;
        address    <= request_i.a_address;
        waited     <= '0;
        register_q <= register_rdata_i;
      end else if (answer_fire) begin
        busy       <= beat != last_beat;
        beat       <= beat == last_beat ? 3'd0 : beat + 3'd1;
        register_q <= register_rdata_i;
      end else if (busy && !ready) waited <= waited + 3'd1;
    end
  always_ff @(posedge clk_i) begin
    if (release_fire && release_data && in_memory(release_at))
      words[index(release_at)] <= request_i.c_data;
    if (request_fire && request_put && in_memory(request_i.a_address))
      for (int i = 0; i < 8; i++)
        if (request_i.a_mask[i])
          words[index(request_i.a_address)][i*8 +: 8] <= request_i.a_data[i*8 +: 8];
  end

  // A register is accessed with its request. A burst reads the debug ROM, word by word.
  wire high = request_i.a_mask[3:0] == 4'b0;
  assign register_req_o   = request_fire && !in_memory(request_i.a_address);
  assign register_we_o    = register_req_o && request_put;
  assign register_addr_o  = !request_fire ? next_at
                          : request_put ? {request_i.a_address[31:3], high, 2'b0}
                          : {request_i.a_address[31:2], 2'b0};
  assign register_wdata_o = high ? request_i.a_data[63:32] : request_i.a_data[31:0];
endmodule

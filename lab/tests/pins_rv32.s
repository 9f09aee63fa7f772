# What lab/tests/plugin.rs runs on QEMU's virt: pins by the bits of what is stored. Each instruction is known; comments number them
# from the first store to a pin on.
        .equ    PIN_SET, 0x10
        .equ    PIN_CLEAR, 0x14

        li      a0, 0x02003000
        li      a1, 5
        sw      a1, PIN_SET(a0)         # 0: pins 0 and 2
        nop
        li      a2, 1
        sw      a2, PIN_CLEAR(a0)       # 3: pin 0
        addi    s0, a0, PIN_SET
        li      s1, -252
        c.sw    s1, PIN_CLEAR-PIN_SET(s0) # 6: pin 2; bits above pin 7 are nobody's
        sw      zero, PIN_SET(a0)
        mv      sp, a0
        li      t0, 0x80
        c.swsp  t0, PIN_SET(sp)         # 10: pin 7
        sw      t0, PIN_CLEAR(a0)       # 11

        li      a0, 0x18                # SYS_EXIT
        li      a1, 0x20026             # ApplicationExit
        .option norvc
        slli    zero, zero, 0x1f
        ebreak
        srai    zero, zero, 7
        j       .

@ What lab/tests/plugin.rs runs on QEMU's netduinoplus2: pins, a sleep and interrupts, each instruction known. No kernel, no linker: what is
@ assembled starts at address 0. Comments tell the instructions executed so far, itself included; A is the alarm's time, 50,000,023.
        .syntax unified
        .cpu cortex-m4
        .thumb
        .equ    PINS, 0x42400300        @ word n sets pin n, word 16 + n clears it
        .equ    CLEAR, 64
        .equ    TIM2, 0x40000000
        .equ    TIM5, 0x40000c00
        .equ    CONTROL, 0x00
        .equ    ENABLE_INTERRUPT, 0x0c
        .equ    STATUS, 0x10
        .equ    COUNT, 0x24
        .equ    RELOAD, 0x2c
        .equ    NVIC_ENABLE, 0xe000e100
        .equ    NVIC_PEND, 0xe000e200
        .equ    NVIC_PRIORITY, 0xe000e400
        .equ    RAM, 0x20000000

vectors:
        .word   0x20020000
        .word   start - vectors + 1
        .rept   14 + 28
        .word   fault - vectors + 1
        .endr
        .word   alarm - vectors + 1     @ interrupt 28: TIM2
        .word   outer - vectors + 1     @ 29
        .rept   10
        .word   fault - vectors + 1
        .endr
        .word   inner - vectors + 1     @ 40
        .word   again - vectors + 1     @ 41

start:
        ldr     r7, =PINS
        ldr     r6, =TIM5
        ldr     r5, =TIM2
        movs    r1, #1
        str     r1, [r6, #CONTROL]
        str     r1, [r5, #CONTROL]
        ldr     r4, =NVIC_ENABLE
        ldr     r0, =0x30000000
        str     r0, [r4, #0]
        mov     r0, #0x300
        str     r0, [r4, #4]
        ldr     r3, =NVIC_PRIORITY      @ 40 before 41 before 29
        movs    r0, #0x40
        strb    r0, [r3, #29]
        movs    r0, #0x20
        strb    r0, [r3, #41]

        str     r1, [r7, #4 * 0]        @ 17
        nop
        nop
        nop
        str     r1, [r7, #4 * 0 + CLEAR] @ 21

        ldr     r0, =50000000
        str     r0, [r5, #RELOAD]       @ 23
        str     r1, [r5, #ENABLE_INTERRUPT]
        ldr     r8, [r6, #COUNT]        @ 25
        str     r1, [r7, #4 * 1]        @ 26
        wfi                             @ 27; TIM2's handler runs from A to A + 6
        str     r1, [r7, #4 * 1 + CLEAR] @ A + 7
        ldr     r9, [r6, #COUNT]        @ A + 8

        mov     r0, #1 << 29
        str     r1, [r7, #4 * 3]        @ A + 10
        ldr     r3, =NVIC_PEND
        movs    r2, #0
        str     r0, [r3, #0]            @ A + 13; the handlers run from here to A + 40
        nop
        str     r1, [r7, #4 * 3 + CLEAR] @ A + 42

        @ On standard output: what TIM5 counted around the sleep.
        sub     r9, r9, r8
        ldr     r3, =RAM
        str     r9, [r3, #0]
        movs    r0, #0x01               @ SYS_OPEN
        adr     r1, open
        bkpt    0xab
        str     r0, [r3, #4]
        str     r3, [r3, #8]
        movs    r0, #4
        str     r0, [r3, #12]
        movs    r0, #0x05               @ SYS_WRITE
        adds    r1, r3, #4
        bkpt    0xab
        ldr     r1, =0x20026            @ ApplicationExit
exit:   movs    r0, #0x18               @ SYS_EXIT
        bkpt    0xab
        b       .
fault:  movs    r1, #0
        b       exit

alarm:  movs    r0, #0
        str     r0, [r5, #ENABLE_INTERRUPT]
        str     r0, [r5, #STATUS]
        str     r1, [r7, #4 * 2]        @ A + 4
        str     r1, [r7, #4 * 2 + CLEAR] @ A + 5
        bx      lr

outer:  push    {r4, lr}
        mov     r0, #1 << 8
        str     r0, [r3, #4]            @ A + 16: interrupt 40 comes at once
        nop
        nop
        pop     {r4, pc}                @ A + 40

inner:  mov     r0, #1 << 9
        str     r0, [r3, #4]            @ A + 18: 41 has to wait,
        nop
        bx      lr                      @ A + 20: till here, with 29 still interrupted

again:  cmp     r2, #2                  @ twice it pends itself
        it      eq
        bxeq    lr                      @ A + 37
        adds    r2, #1
        mov     r0, #1 << 9
        str     r0, [r3, #4]
        bx      lr                      @ A + 27, A + 34

        .align  2
open:   .word   name - vectors, 4, 3
name:   .asciz  ":tt"
        .align  2
        .ltorg

@ Drives each kind of device once, as a driver would, and ends by semihosting. The handlers leave their
@ numbers of runs in r8 (timer) and r9 (external interrupt), which the program sends over USART2.
    .syntax unified
    .cpu cortex-m4
    .word 0x20001000, reset + 1
    .rept 14
    .word wrong + 1
    .endr
    .rept 23
    .word wrong + 1
    .endr
    .word pin + 1                @ interrupt 23: EXTI9_5
    .rept 4
    .word wrong + 1
    .endr
    .word timer + 1              @ interrupt 28: TIM2
    .thumb_func
wrong:
    b wrong

    .thumb_func
reset:
    ldr r0, =0x40023800          @ RCC: HSE, then as the system's clock
    ldr r1, [r0]
    orr r1, #0x10000
    str r1, [r0]
external:
    ldr r1, [r0]
    tst r1, #0x20000
    beq external
    ldr r1, =0x9401              @ HSE; APB1 divided by 4 (timers: half the core's rate), APB2 by 2
    str r1, [r0, #8]
    movs r1, #1                  @ GPIOA
    str r1, [r0, #0x30]
    ldr r1, =0x20001             @ TIM2, USART2
    str r1, [r0, #0x40]

    ldr r0, =0xe000e100          @ interrupts 23 and 28
    ldr r1, =0x10800000
    str r1, [r0]

    ldr r0, =0x40013c00          @ EXTI: line 5, rising
    movs r1, #0x20
    str r1, [r0]
    str r1, [r0, #8]
    ldr r2, =0x40020000          @ GPIOA: pin 5 an output
    ldr r3, [r2]
    orr r3, #0x400
    str r3, [r2]
    .global edge
edge:
    str r1, [r2, #0x18]          @ high: the handler runs
    ldr r3, [r2, #0x10]          @ reads back
    tst r3, #0x20
    beq wrong
    str r1, [r0, #0x10]          @ by software
    cmp r9, #2
    bne wrong

    ldr r0, =0xe000e010          @ SysTick counts down, 168 a µs
    ldr r1, =0xffffff
    str r1, [r0, #4]
    movs r1, #5
    str r1, [r0]

    ldr r0, =0x40000000          @ TIM2: 4 MHz / (3 + 1) / 1000, so a period of 1 ms
    movs r1, #3
    str r1, [r0, #0x28]
    ldr r1, =999
    str r1, [r0, #0x2c]
    mov r1, #500
    str r1, [r0, #0x34]
    movs r1, #1
    str r1, [r0, #0x14]
    movs r1, #0
    str r1, [r0, #0x10]
    movs r1, #3                  @ updates, and compares of channel 1
    str r1, [r0, #0x0c]
    movs r1, #1
    str r1, [r0]
ticks:
    cmp r8, #10                  @ five compares, five updates
    bne ticks
    movs r1, #0
    str r1, [r0]
    subs r1, r4, r5              @ from the first compare to the last update: 4.5 ms
    ldr r2, =755990
    cmp r1, r2
    blo wrong
    add r2, #20
    cmp r1, r2
    bhi wrong

    ldr r0, =0x40004400          @ USART2: 2 MHz / 17, about 115,200 baud
    movs r1, #17
    str r1, [r0, #8]
    ldr r1, =0x2008
    str r1, [r0, #0x0c]
    adr r2, text
send:
    ldrb r1, [r2], #1
    cbz r1, sent
empty:
    ldr r3, [r0]
    tst r3, #0x80
    beq empty
    str r1, [r0, #4]
    b send
sent:
    ldr r3, [r0]
    tst r3, #0x40
    beq sent
    .global end
end:
    movs r0, #0x18
    ldr r1, =0x20026
    bkpt 0xab
    b .

    .thumb_func
    .global timer
timer:
    ldr r6, =0xe000e018          @ SysTick's counter
    ldr r5, [r6]
    cmp r8, #0
    it eq
    moveq r4, r5
    ldr r6, =0x40000000
    ldr r7, [r6, #0x10]
    mvns r7, r7
    str r7, [r6, #0x10]
    add r8, #1
    dsb
    bx lr

    .thumb_func
pin:
    ldr r6, =0x40013c00
    movs r7, #0x20
    str r7, [r6, #0x14]
    add r9, #1
    dsb
    bx lr
    .ltorg
text:
    .asciz "ten ticks\r\nand two edges\r\n"

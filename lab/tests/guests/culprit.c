// A kernel module that disturbs the processor for 300 µs in every 7.6 ms: the culprit that a trace must
// name. KIND says by what.

#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/stop_machine.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>
#include <uapi/linux/sched/types.h>

enum { TIMER, IRQS_OFF, PREEMPTION_OFF, FIFO, TASKLET, WORK, STOPPED };

#define TAKES_NS 300000
// With the disturbance 7.618 ms, so that in a case of 1 ms each due time meets another part of it.
#define EVERY_US 7318

// Reads the clock seldom: it is read by a retpoline, through which the kernel unwinds no stack.
static noinline void burn(void)
{
	u64 end = ktime_get_ns() + TAKES_NS;
	int turn;

	while (ktime_get_ns() < end)
		for (turn = 0; turn < 1000; turn++)
			cpu_relax();
}

static struct hrtimer timer;

static void culprit_tasklet(struct tasklet_struct *tasklet)
{
	burn();
}
static DECLARE_TASKLET(tasklet, culprit_tasklet);

static void culprit_work(struct work_struct *work)
{
	preempt_disable();
	burn();
	preempt_enable();
}
static DECLARE_WORK(work, culprit_work);

static int culprit_stopped(void *unused)
{
	burn();
	return 0;
}

static enum hrtimer_restart culprit_timer(struct hrtimer *expired)
{
	if (KIND == TIMER)
		burn();
	else
		tasklet_schedule(&tasklet);
	hrtimer_forward_now(expired, ns_to_ktime(EVERY_US * 1000));
	return HRTIMER_RESTART;
}

static int culprit_thread(void *unused)
{
	while (!kthread_should_stop()) {
		usleep_range(EVERY_US, EVERY_US);
		if (KIND == IRQS_OFF) {
			local_irq_disable();
			burn();
			local_irq_enable();
		} else if (KIND == PREEMPTION_OFF) {
			preempt_disable();
			burn();
			preempt_enable();
		} else if (KIND == FIFO) {
			burn();
		} else if (KIND == WORK) {
			queue_work(system_wq, &work);
		} else {
			stop_machine(culprit_stopped, NULL, NULL);
		}
	}
	return 0;
}

static int __init start(void)
{
	struct sched_attr urgent = {
		.size = sizeof(urgent),
		.sched_policy = SCHED_FIFO,
		.sched_priority = 90,
	};
	struct task_struct *thread;

	if (KIND == TIMER || KIND == TASKLET) {
		hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
		timer.function = culprit_timer;
		hrtimer_start(&timer, ns_to_ktime(EVERY_US * 1000), HRTIMER_MODE_REL_HARD);
		return 0;
	}
	thread = kthread_run(culprit_thread, NULL, "culprit");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	return KIND == FIFO ? sched_setattr_nocheck(thread, &urgent) : 0;
}
module_init(start);

MODULE_DESCRIPTION("A known disturbance");
MODULE_LICENSE("GPL");

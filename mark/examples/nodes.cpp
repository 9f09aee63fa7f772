// Two nodes with timers in one executor's thread, as rclcpp's single-threaded executor calls them, in C++
// for Linux: a planner's long callback delays the controller's next one.
//
//     g++ -O2 -I mark/include mark/examples/nodes.cpp -o nodes
//     chronoscope watch --limit 'controller <= 5ms' -- ./nodes
//
// `controller` is the time from one call of the controller to the next, and `update` the call itself.

#include <chronoscope_mark.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace {
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

struct Timer {
    Clock::duration period;
    std::function<void()> callback;
    Clock::time_point due;
};

class Executor {
public:
    void add_timer(Clock::duration period, std::function<void()> callback) {
        timers_.push_back({period, std::move(callback), Clock::now() + period});
    }

    void spin_for(Clock::duration time) {
        const auto end = Clock::now() + time;
        while (Clock::now() < end) {
            auto &next = *std::min_element(timers_.begin(), timers_.end(),
                                           [](const auto &a, const auto &b) { return a.due < b.due; });
            std::this_thread::sleep_until(next.due);
            next.due += next.period;
            next.callback();
        }
    }

private:
    std::vector<Timer> timers_;
};

volatile unsigned state;

void work(unsigned steps) {
    for (unsigned step = 0; step < steps; step++) state = state + step;
}
} // namespace

int main() {
    Executor executor;
    executor.add_timer(2ms, [] {
        CHRONO_INSTANT(controller);
        CHRONO_BEGIN(update);
        work(10'000);
        CHRONO_END(update);
    });
    executor.add_timer(50ms, [] {
        CHRONO_BEGIN(plan);
        work(500'000);
        CHRONO_END(plan);
    });
    executor.spin_for(1s);
}

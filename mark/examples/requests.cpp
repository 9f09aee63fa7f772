// Requests that overlap, in C++ for Linux: each has an id, begins in one thread, and ends in another.
//
//     g++ -O2 -pthread -I mark/include mark/examples/requests.cpp -o requests
//     chronoscope watch --limit 'request p99 <= 5ms' -- ./requests

#include <chronoscope_mark.h>

#include <condition_variable>
#include <mutex>
#include <queue>
#include <thread>

namespace {
constexpr unsigned long kRequests = 500;

std::mutex lock;
std::condition_variable arrived;
std::queue<unsigned long> waiting;

void serve() {
    for (unsigned long served = 0; served < kRequests; served++) {
        std::unique_lock<std::mutex> held(lock);
        arrived.wait(held, [] { return !waiting.empty(); });
        const unsigned long id = waiting.front();
        waiting.pop();
        CHRONO_VALUE(waiting, waiting.size());
        held.unlock();
        CHRONO_END_ID(request, id);
    }
}
}  // namespace

int main() {
    std::thread server(serve);
    for (unsigned long id = 0; id < kRequests; id++) {
        CHRONO_BEGIN_ID(request, id);
        {
            const std::lock_guard<std::mutex> held(lock);
            waiting.push(id);
        }
        if (id % 4 == 3)
            arrived.notify_one();
    }
    arrived.notify_one();
    server.join();
}

"""lanes - processes that run beside each other, and end with the script that started them"""
import concurrent.futures
import contextlib

running = set()


def wait(process):
    """Returns its status; it is ended if the lanes are closed meanwhile."""
    running.add(process)
    status = process.wait()
    running.remove(process)
    return status


@contextlib.contextmanager
def open_lanes(count):
    """A pool of so many threads. When the block ends, as by SystemExit, what has not begun is
    dropped, and what runs is ended."""
    pool = concurrent.futures.ThreadPoolExecutor(count)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in list(running):
            process.terminate()  # timeout(1) passes it on
        pool.shutdown()

/* ask_terminal.c - the terminal while somebody is asked something there */
#include "cli/ask_terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* A scope has no descriptor: this is how soon its end is noticed. */
#define TICK_MS 50
#define LINE_MAX_BYTES ((size_t)1024 * 1024)

static struct {
    pthread_mutex_t lock;
    pthread_cond_t free;
    bool is_taken;    /* under lock */
    const char *path; /* NULL: /dev/tty */
} terminal = {.lock = PTHREAD_MUTEX_INITIALIZER, .free = PTHREAD_COND_INITIALIZER};

void
cli_turn_use(const char *path)
{
    terminal.path = path;
}

/* ---- turns ---------------------------------------------------------------------- */

bool
cli_turn_is_over(const struct cli_turn *turn)
{
    struct pollfd stop = {.fd = turn->stop_fd, .events = POLLIN};

    if (cli_is_over(turn->cli))
        return true;
    return turn->stop_fd >= 0 && poll(&stop, 1, 0) > 0;
}

/* False: it is over. */
static bool
terminal_take(struct cli_turn *turn)
{
    struct timespec until;
    bool over = cli_turn_is_over(turn);

    pthread_mutex_lock(&terminal.lock);
    while (terminal.is_taken && !over) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += (long)TICK_MS * 1000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&terminal.free, &terminal.lock, &until);
        over = cli_turn_is_over(turn);
    }
    if (!over)
        terminal.is_taken = true;
    pthread_mutex_unlock(&terminal.lock);
    return !over;
}

static void
terminal_give(void)
{
    pthread_mutex_lock(&terminal.lock);
    terminal.is_taken = false;
    pthread_cond_signal(&terminal.free);
    pthread_mutex_unlock(&terminal.lock);
}

static size_t
terminal_columns(int fd)
{
    struct winsize size;

    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
        return size.ws_col;
    return 80;
}

bool
cli_turn_begin(struct cli_turn *turn, struct cli *cli, int stop_fd)
{
    *turn = (struct cli_turn){.cli = cli, .stop_fd = stop_fd, .fd = -1};
    if (!terminal_take(turn))
        return false;
    turn->fd = open(terminal.path ? terminal.path : "/dev/tty",
                    O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (turn->fd < 0) {
        terminal_give();
        return false;
    }
    turn->columns = terminal_columns(turn->fd);
    turn->has_mode = tcgetattr(turn->fd, &turn->mode) == 0;
    cli_say_pause(&cli->say);
    return true;
}

void
cli_turn_end(struct cli_turn *turn)
{
    cli_say_resume(&turn->cli->say);
    close(turn->fd);
    turn->fd = -1;
    terminal_give();
}

/* ---- showing -------------------------------------------------------------------- */

/* A terminal that is gone is noticed when it is read from. */
static void
terminal_write(int fd, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, text, length);

        if (n < 0 && errno != EINTR)
            return;
        if (n > 0) {
            text += n;
            length -= (size_t)n;
        }
    }
}

void
cli_turn_show(struct cli_turn *turn, const char *ours, const char *theirs,
              size_t length)
{
    struct cli_text text = {0}, shown = {0};

    cli_text_puts(&text, ours);
    if (theirs)
        cli_text_add_harmless(&text, theirs, length, false);
    cli_text_add_wrapped(&shown, cli_text_string(&text), text.length, turn->columns, 2);
    cli_text_puts(&shown, "\n");
    terminal_write(turn->fd, cli_text_string(&shown), shown.length);
    cli_text_done(&text);
    cli_text_done(&shown);
}

void
cli_turn_say(struct cli_turn *turn, const char *ours, const char *theirs)
{
    cli_turn_show(turn, ours, theirs, theirs ? strlen(theirs) : 0);
}

/* ---- reading -------------------------------------------------------------------- */

/* Whole lines, with the keys that edit them; a shell of ours may have left it
 * otherwise. */
static void
mode_set(struct cli_turn *turn)
{
    struct termios mode = turn->mode;

    if (!turn->has_mode)
        return;
    mode.c_iflag |= ICRNL;
    mode.c_lflag |= ICANON | ISIG | ECHO | ECHOE | ECHOK;
    if (turn->secret)
        mode.c_lflag &= ~(tcflag_t)ECHO;
    (void)tcsetattr(turn->fd, TCSANOW, &mode);
}

/* One that is not ours to begin with has nobody in front. */
static bool
is_in_front(const struct cli_turn *turn)
{
    pid_t front = tcgetpgrp(turn->fd);

    return front < 0 || front == getpgrp();
}

/* A shell that has stopped us (Ctrl-Z) and lets us go on has set its own mode meanwhile,
 * and a secret would be seen. As long as we are in the background the terminal is not
 * ours, and to set something there would stop us again. */
static void
mode_keep(struct cli_turn *turn)
{
    struct termios mode;

    if (!turn->secret || tcgetattr(turn->fd, &mode) < 0 || !(mode.c_lflag & ECHO) ||
        !is_in_front(turn))
        return;
    mode_set(turn);
    terminal_write(turn->fd, turn->secret, strlen(turn->secret));
}

/* False: it is over. */
static bool
terminal_wait(struct cli_turn *turn)
{
    struct pollfd fds[2] = {{.fd = turn->fd, .events = POLLIN},
                            {.fd = turn->stop_fd, .events = POLLIN}};

    for (;;) {
        if (cli_turn_is_over(turn))
            return false;
        mode_keep(turn);
        fds[0].revents = fds[1].revents = 0;
        if (poll(fds, 2, TICK_MS) <= 0 || fds[1].revents != 0)
            continue;
        if (is_in_front(turn))
            return true;
        (void)kill(0,
                   SIGTTIN); /* as reading would, but the mode is looked at after it */
        if (!is_in_front(turn))
            return true; /* nobody stops us: reading will say so */
    }
}

/* Takes the newline away, if the line is whole. */
static bool
line_is_whole(struct cli_text *text)
{
    if (text->length == 0 || text->data[text->length - 1] != '\n')
        return false;
    text->data[--text->length] = '\0';
    return true;
}

/* A line into text. False: the end, or it is over. */
static bool
line_read(struct cli_turn *turn, struct cli_text *text)
{
    char bytes[4096]; /* longer lines the terminal does not give at once */
    ssize_t n;

    for (;;) {
        if (!terminal_wait(turn)) {
            (void)tcflush(turn->fd, TCIFLUSH); /* half a line is nobody's */
            return false;
        }
        n = read(turn->fd, bytes, sizeof(bytes));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return text->length > 0 && n == 0;
        cli_text_add(text, bytes, (size_t)n);
        explicit_bzero(bytes, sizeof(bytes));
        if (line_is_whole(text))
            return true;
        if (text->length > LINE_MAX_BYTES || text->failed)
            return false;
    }
}

static char *
line_take(struct cli_text *text)
{
    char *line = strdup(cli_text_string(text));

    if (text->length > 0)
        explicit_bzero(text->data, text->length);
    return line;
}

char *
cli_turn_line(struct cli_turn *turn, const char *prompt, bool secret)
{
    struct cli_text text = {0};
    char *line = NULL;

    turn->secret = secret ? prompt : NULL;
    mode_set(turn);
    terminal_write(turn->fd, prompt, strlen(prompt));
    if (line_read(turn, &text))
        line = line_take(&text);
    if (!line || secret) /* no newline was shown */
        terminal_write(turn->fd, "\n", 1);
    if (turn->has_mode)
        (void)tcsetattr(turn->fd, TCSANOW, &turn->mode);
    turn->secret = NULL;
    cli_text_done(&text);
    return line;
}

char
cli_turn_choose(struct cli_turn *turn, const char *prompt, const char *letters)
{
    char *line, letter;

    for (;;) {
        line = cli_turn_line(turn, prompt, false);
        if (!line)
            return 0;
        letter = line[0] >= 'A' && line[0] <= 'Z' ? (char)(line[0] + 'a' - 'A')
                                                  : line[0];
        free(line);
        if (letter && strchr(letters, letter))
            return letter;
    }
}

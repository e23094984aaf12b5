/* A closed-loop load generator for HTTP/1.1 with keep-alive, JSON answers and SSE streams. Prints one line of JSON.
 *
 *   latency  first byte sent to whole answer received      first   to the first "data:" line
 *   lag      arrival of a chunk minus the " t=<ns>" stamp that the mock put into it
 *
 * It walks through a pool of requests, round and round. Ten zeros anywhere in a request are replaced by a number that
 * rises with each request, from FIRST, so that no two are the same. The mock ends its answer with that number.
 *
 * An answer is whole if its status is 200, it bears the number of its request, and it has "choices" (JSON), or TEXTS
 * words, a finish_reason and [DONE] (SSE; TEXTS 0: any number of words). A word is a space inside a "content": chunks
 * may be merged on their way, words may not be lost. Times are in microseconds.
 *
 * usage: loadgen PORT CONNECTIONS REQUESTS SECONDS POOL FIRST TEXTS
 *        POOL: a file of raw requests, head and body, each after its length (32 bits, this machine's order)
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 262144, LINE = 65536, EVENTS = 256, SILENCE_MS = 30000, MAX_LAGS = 20000000, MAX_PLACES = 8 };
enum { IN_HEAD, IN_BODY };
enum { CHUNK_SIZE, CHUNK_DATA, CHUNK_END, TRAILER };

typedef struct {
    int fd, open, part;          /* part: IN_HEAD or IN_BODY */
    char head[LINE];
    int head_length, status, closes;
    int chunked, chunk_part;
    long declared, received, chunk_left;
    char size[32];
    int size_length;
    char line[LINE];             /* the SSE line under way, or the JSON body */
    int line_length, events, texts, finishes, done, bears_number;
    char number[16];             /* of the request, as it ends the answer: "#0000000007" */
    int64_t sent, first;
} Client;

typedef struct {
    int64_t *values;
    long count, capacity;
} Samples;

static Samples latencies, firsts, lags;
typedef struct {
    char *text;
    uint32_t length;
    uint32_t places[MAX_PLACES]; /* where its number stands */
    int place_count;
} Request;

static long wanted, started, finished, errors, reconnects, events, texts, bytes, first_number;
static int wanted_texts;
static int poller, port, streams, stopped;
static int64_t deadline;
static char first_error[2048];
static Request *pool;
static long pool_count;

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void add(Samples *s, int64_t value) {
    if (s->count < s->capacity) s->values[s->count++] = value;
}

static Samples samples(long capacity) { return (Samples){malloc(capacity * sizeof(int64_t)), 0, capacity}; }

/* The pool */

static void find_places(Request *r) {
    char *from = r->text, *end = r->text + r->length;
    while (r->place_count < MAX_PLACES && (from = memmem(from, end - from, "0000000000", 10))) {
        r->places[r->place_count++] = from - r->text;
        from += 10;
    }
}

static void read_pool(const char *path) {
    FILE *file = fopen(path, "rb");
    uint32_t length;
    long capacity = 0;
    if (!file) {
        perror("loadgen: pool");
        exit(2);
    }
    while (fread(&length, sizeof length, 1, file) == 1) {
        if (pool_count == capacity) pool = realloc(pool, (capacity = capacity * 2 + 64) * sizeof *pool);
        Request *r = &pool[pool_count++];
        *r = (Request){.text = calloc(1, length + 1), .length = length};
        if (fread(r->text, 1, length, file) != length) {
            fprintf(stderr, "loadgen: the pool is cut\n");
            exit(2);
        }
        find_places(r);
    }
    fclose(file);
    if (!pool_count) {
        fprintf(stderr, "loadgen: the pool is empty\n");
        exit(2);
    }
}

/* The next request, with its number in it. */
static Request *next_request(Client *c) {
    long number = first_number + started;
    Request *r = &pool[number % pool_count];
    c->number[0] = 0;
    if (r->place_count) sprintf(c->number, "#%010ld", number % 10000000000L);
    for (int i = 0; i < r->place_count; i++) memcpy(r->text + r->places[i], c->number + 1, 10);
    return r;
}

/* Sending */

static void connect_client(Client *c) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    int one = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(c->fd, (struct sockaddr *)&address, sizeof address)) {
        perror("loadgen: connect");
        exit(2);
    }
    epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &event);
}

static void send_request(Client *c) {
    c->part = IN_HEAD;
    c->head_length = c->line_length = c->size_length = 0;
    c->chunked = c->chunk_part = c->closes = c->status = 0;
    c->events = c->texts = c->finishes = c->done = c->bears_number = 0;
    c->declared = -1;
    c->received = 0;
    c->first = 0;
    c->open = 1;
    Request *r = next_request(c);
    started++;
    c->sent = now_ns();
    for (uint32_t offset = 0; offset < r->length;) {
        int sent = send(c->fd, r->text + offset, r->length - offset, MSG_NOSIGNAL);
        if (sent < 0) break;
        offset += sent;
    }
}

/* Judging an answer */

static int is_whole(Client *c) {
    if (c->status != 200) return 0;
    if (streams) {
        int right = c->bears_number || !c->number[0];
        return right && c->done && c->finishes && c->texts && (!wanted_texts || c->texts == wanted_texts);
    }
    c->line[c->line_length] = 0;
    return strstr(c->line, "\"choices\"") && strstr(c->line, c->number);
}

static void note_error(Client *c, int whole) {
    c->line[c->line_length] = 0;
    if (!first_error[0])
        snprintf(first_error, 400, "status %d, %s, %d words, %d ends, %s, its number %s: %.200s", c->status,
                 whole ? "whole body" : "cut", c->texts, c->finishes, c->done ? "[DONE]" : "no [DONE]",
                 c->bears_number || (!streams && strstr(c->line, c->number)) ? "there" : "not there", c->line);
}

static void finish(Client *c, int whole) {
    int64_t now = now_ns();
    int good = whole && is_whole(c);
    c->open = 0;
    finished++;
    if (good) {
        add(&latencies, now - c->sent);
        if (c->first) add(&firsts, c->first - c->sent);
    } else {
        errors++;
        note_error(c, whole);
    }
    if (now > deadline) stopped = 1;
    int more = started < wanted && !stopped;
    if (c->closes || !good) {
        close(c->fd);
        if (!more) return;
        reconnects++;
        connect_client(c);
    }
    if (more) send_request(c);
}

/* Reading */

static void keep(Client *c, const char *data, int length) {
    if (c->line_length + length >= LINE - 1) return;
    memcpy(c->line + c->line_length, data, length);
    c->line_length += length;
}

/* The words of all texts in a line: the spaces inside the strings named "content". */
static int count_words(const char *line) {
    int words = 0;
    while ((line = strstr(line, "\"content\":"))) {
        line += 10;
        if (*line == ' ') line++;
        if (*line++ != '"') continue;
        for (; *line && *line != '"'; line++) {
            if (*line == '\\' && line[1]) line++;
            words += *line == ' ';
        }
    }
    return words;
}

static void on_line(Client *c, int64_t now) {
    c->line[c->line_length] = 0;
    if (c->line_length <= 5 || memcmp(c->line, "data:", 5)) return;
    if (strstr(c->line, "[DONE]")) {
        c->done = 1;
        return;
    }
    if (!c->events++) c->first = now;
    events++;
    int words = count_words(c->line);
    c->texts += words;
    texts += words;
    if (strstr(c->line, "\"finish_reason\":\"") || strstr(c->line, "\"finish_reason\": \"")) c->finishes++;
    if (c->number[0] && strstr(c->line, c->number)) c->bears_number = 1;
    char *stamp = strstr(c->line, " t=");
    if (stamp && stamp[3] >= '0' && stamp[3] <= '9') add(&lags, now - atoll(stamp + 3));
}

static void on_body(Client *c, const char *data, int length, int64_t now) {
    bytes += length;
    if (!streams) {
        keep(c, data, length);
        return;
    }
    while (length) {
        const char *end = memchr(data, '\n', length);
        int n = end ? end - data : length;
        keep(c, data, n);
        if (!end) return;
        on_line(c, now);
        c->line_length = 0;
        data += n + 1;
        length -= n + 1;
    }
}

static void read_headers(Client *c) {
    c->status = atoi(c->head + 9);
    for (char *line = c->head; (line = strstr(line, "\r\n"));) {
        line += 2;
        if (!strncasecmp(line, "content-length:", 15)) c->declared = atol(line + 15);
        if (!strncasecmp(line, "transfer-encoding:", 18) && strcasestr(line, "chunked")) c->chunked = 1;
        if (!strncasecmp(line, "connection: close", 17)) c->closes = 1;
    }
    c->part = IN_BODY;
    if (!c->chunked && c->declared < 0) c->closes = 1;
}

/* Takes bytes of the head; returns how many. */
static int take_head(Client *c, const char *data, int length) {
    int before = c->head_length, n = length;
    if (before + n > LINE - 1) n = LINE - 1 - before;
    memcpy(c->head + before, data, n);
    c->head_length += n;
    int from = before > 3 ? before - 3 : 0;
    char *end = memmem(c->head + from, c->head_length - from, "\r\n\r\n", 4);
    if (!end) return length;
    int used = end + 4 - c->head - before;
    end[2] = 0;
    read_headers(c);
    if (c->status == 100) {
        c->part = IN_HEAD;
        c->head_length = 0;
    }
    return used;
}

/* Takes bytes of a chunked body; returns how many, or -1 when the body has ended. */
static int take_chunked(Client *c, const char *data, int length, int64_t now) {
    if (c->chunk_part == CHUNK_DATA) {
        int n = length < c->chunk_left ? length : c->chunk_left;
        on_body(c, data, n, now);
        c->chunk_left -= n;
        if (!c->chunk_left) c->chunk_part = CHUNK_END;
        return n;
    }
    char byte = *data;
    if (c->chunk_part == CHUNK_END) {
        if (byte == '\n') c->chunk_part = CHUNK_SIZE;
    } else if (c->chunk_part == CHUNK_SIZE) {
        if (byte == '\n') {
            c->size[c->size_length] = 0;
            c->chunk_left = strtol(c->size, NULL, 16);
            c->size_length = 0;
            c->chunk_part = c->chunk_left ? CHUNK_DATA : TRAILER;
        } else if (byte != '\r' && c->size_length < 30)
            c->size[c->size_length++] = byte;
    } else if (byte == '\n') { /* an empty trailer line ends the answer */
        if (!c->size_length) return -1;
        c->size_length = 0;
    } else if (byte != '\r')
        c->size_length = 1;
    return 1;
}

/* Takes bytes of a body with a declared length, or until close; returns how many, or -1 when the body has ended. */
static int take_plain(Client *c, const char *data, int length, int64_t now) {
    int n = length;
    if (c->declared >= 0 && n > c->declared - c->received) n = c->declared - c->received;
    on_body(c, data, n, now);
    c->received += n;
    return c->declared >= 0 && c->received >= c->declared ? -1 : n;
}

static void feed(Client *c, const char *data, int length, int64_t now) {
    while (length > 0) {
        int n;
        if (c->part == IN_HEAD) {
            n = take_head(c, data, length);
            if (c->part == IN_BODY && c->declared == 0) n = -1;
        } else
            n = c->chunked ? take_chunked(c, data, length, now) : take_plain(c, data, length, now);
        if (n < 0) { /* closed loop: nothing of the next answer can follow yet */
            finish(c, 1);
            return;
        }
        data += n;
        length -= n;
    }
}

static void on_readable(Client *c, char *buffer) {
    int got = recv(c->fd, buffer, BUFFER, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return;
    if (got > 0) {
        feed(c, buffer, got, now_ns());
    } else if (c->open) {
        int until_close = c->part == IN_BODY && !c->chunked && c->declared < 0;
        c->closes = 1;
        finish(c, until_close);
    } else
        close(c->fd);
}

static void run(Client *clients, int count) {
    char *buffer = malloc(BUFFER);
    for (int i = 0; i < count && started < wanted; i++) send_request(&clients[i]);
    while (finished < started) {
        struct epoll_event ready[EVENTS];
        int n = epoll_wait(poller, ready, EVENTS, SILENCE_MS);
        if (n == 0) {
            snprintf(first_error, 200, "silence: %ld in flight", started - finished);
            errors += started - finished;
            return;
        }
        for (int i = 0; i < n; i++) on_readable(ready[i].data.ptr, buffer);
    }
}

/* Reporting */

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void print_samples(const char *name, Samples *s) {
    if (!s->count) {
        printf(",\"%s\":null", name);
        return;
    }
    qsort(s->values, s->count, sizeof(int64_t), ascending);
    double sum = 0;
    for (long i = 0; i < s->count; i++) sum += s->values[i];
    printf(",\"%s\":{\"n\":%ld,\"mean\":%.2f,\"p50\":%.2f,\"p90\":%.2f,\"p99\":%.2f,\"max\":%.2f}", name, s->count,
           sum / s->count / 1e3, s->values[s->count / 2] / 1e3, s->values[(long)(s->count * .9)] / 1e3,
           s->values[(long)(s->count * .99)] / 1e3, s->values[s->count - 1] / 1e3);
}

static void report(double seconds) {
    for (char *p = first_error; *p; p++)
        if (*p == '"' || *p == '\\' || (unsigned char)*p < 32 || (unsigned char)*p > 126) *p = '\'';
    printf("{\"good\":%ld,\"errors\":%ld,\"reconnects\":%ld,\"seconds\":%.4f,\"events\":%ld,\"texts\":%ld,"
           "\"bytes\":%ld",
           latencies.count, errors, reconnects, seconds, events, texts, bytes);
    print_samples("latency", &latencies);
    print_samples("first", &firsts);
    print_samples("lag", &lags);
    printf(",\"first_error\":\"%s\"}\n", first_error);
}

int main(int count, char **arguments) {
    if (count != 8) {
        fprintf(stderr, "usage: loadgen PORT CONNECTIONS REQUESTS SECONDS POOL FIRST TEXTS\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    port = atoi(arguments[1]);
    int connections = atoi(arguments[2]);
    wanted = atol(arguments[3]);
    read_pool(arguments[5]);
    first_number = atol(arguments[6]);
    wanted_texts = atoi(arguments[7]);
    streams = strstr(pool[0].text, "\"stream\":true") != NULL;
    latencies = samples(wanted + 8);
    firsts = samples(wanted + 8);
    lags = samples(streams ? MAX_LAGS : 1);
    poller = epoll_create1(0);
    Client *clients = calloc(connections, sizeof(Client));
    for (int i = 0; i < connections; i++) connect_client(&clients[i]);
    int64_t begin = now_ns();
    deadline = begin + (int64_t)(atof(arguments[4]) * 1e9);
    run(clients, connections);
    report((now_ns() - begin) / 1e9);
}

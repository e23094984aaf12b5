/* A mock upstream that speaks the OpenAI protocol, and Anthropic's at /v1/messages: one thread, epoll, as little work per request as possible.
 *
 *   POST (anything)  a ChatCompletion, or, with "stream":true, a stream of CHUNKS events, each in a send() and an HTTP
 *                    chunk of its own, round-robin over the open streams, like the batch steps of an inference server.
 *                    The first chunk always leaves at once. What the answer holds: answers.c.
 *   GET (anything)   a small JSON answer that the routers accept as health, models and server info.
 *
 * Some text chunks are " t=<CLOCK_MONOTONIC ns>", so that a client on the same machine can tell how long they were
 * under way.
 *
 * usage: mock PORT [CHUNKS=200]
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
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "answers.h"

enum { MAX_FDS = 65536, READ_BUFFER = 262144, EVENTS = 256 };

typedef struct {
    char *in;            /* request bytes not yet handled */
    int in_length;
    char *out;           /* what the socket would not take yet */
    int out_length, out_sent, out_capacity;
    int streaming, sent, closing; /* sent: events of the stream under way */
    Plan plan;
    int64_t due;         /* nanoseconds */
} Connection;

typedef struct {         /* first in, first out, of file descriptors */
    int fds[MAX_FDS];
    unsigned head, tail;
} Queue;

static Connection connections[MAX_FDS];
static Queue fast, paced; /* paced: due times rise from head to tail, as all streams of a run have one pace */
static int poller, chunks_per_stream = 200;

static char models[1024];
static int models_length;

static void push(Queue *q, int fd) { q->fds[q->tail++ % MAX_FDS] = fd; }
static int pop(Queue *q) { return q->fds[q->head++ % MAX_FDS]; }
static int empty(const Queue *q) { return q->head == q->tail; }

/* Sockets */

static void watch(int fd, uint32_t events, int operation) {
    struct epoll_event event = {.events = events, .data.fd = fd};
    epoll_ctl(poller, operation, fd, &event);
}

static void drop(int fd) {
    Connection *c = &connections[fd];
    free(c->in);
    free(c->out);
    memset(c, 0, sizeof *c);
    close(fd);
}

static void flush_out(int fd) {
    Connection *c = &connections[fd];
    while (c->out_sent < c->out_length) {
        int sent = send(fd, c->out + c->out_sent, c->out_length - c->out_sent, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) {
            watch(fd, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
            return;
        }
        if (sent < 0) {
            c->closing = 1;
            break;
        }
        c->out_sent += sent;
    }
    c->out_length = c->out_sent = 0;
}

static void write_out(int fd, const char *data, int length) {
    Connection *c = &connections[fd];
    if (c->out_length == 0) {
        int sent = send(fd, data, length, MSG_NOSIGNAL);
        if (sent == length) return;
        if (sent < 0 && errno != EAGAIN) {
            c->closing = 1;
            return;
        }
        if (sent > 0) data += sent, length -= sent;
    }
    if (c->out_length + length > c->out_capacity) {
        c->out_capacity = (c->out_length + length) * 2;
        c->out = realloc(c->out, c->out_capacity);
    }
    memcpy(c->out + c->out_length, data, length);
    c->out_length += length;
    flush_out(fd);
}

/* Answers */

static void send_chunk(int fd) {
    static const char DONE[] = "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n", LAST_CHUNK[] = "0\r\n\r\n";
    Connection *c = &connections[fd];
    char event[MAX_EVENT], frame[MAX_EVENT + 64];
    int length = write_event(&c->plan, c->sent, event);
    int n = sprintf(frame, "%x\r\n", length);
    memcpy(frame + n, event, length);
    n += length;
    memcpy(frame + n, "\r\n", 2);
    n += 2;
    if (++c->sent == event_count(&c->plan)) {
        const char *end = c->plan.messages ? LAST_CHUNK : DONE;
        memcpy(frame + n, end, strlen(end));
        n += strlen(end);
        c->streaming = 0;
    }
    write_out(fd, frame, n);
}

static void start_stream(int fd) {
    static const char HEAD[] = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
                               "cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";
    Connection *c = &connections[fd];
    c->streaming = 1;
    c->sent = 0;
    write_out(fd, HEAD, sizeof HEAD - 1);
    send_chunk(fd);
    if (!c->streaming) return;
    if (c->plan.pace) {
        c->due = now_ns() + c->plan.pace;
        push(&paced, fd);
    } else
        push(&fast, fd);
}

static int write_json_head(char *to, int length) {
    return sprintf(to, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n", length);
}

static void send_completion(int fd) {
    char body[MAX_COMPLETION], whole[MAX_COMPLETION + 128];
    int length = write_completion(&connections[fd].plan, body);
    int n = write_json_head(whole, length);
    memcpy(whole + n, body, length);
    write_out(fd, whole, n + length);
}

static void answer(int fd, char *body, int length, int messages) {
    Connection *c = &connections[fd];
    read_plan(&c->plan, body, length, chunks_per_stream, messages);
    if (c->plan.stream)
        start_stream(fd);
    else
        send_completion(fd);
}

static void write_models(void) {
    static const char LIST[] = "{\"object\":\"list\",\"status\":\"ok\",\"model_path\":\"mock-model\","
                               "\"served_model_name\":\"mock-model\",\"model_id\":\"mock-model\",\"data\":[{\"id\":"
                               "\"mock-model\",\"object\":\"model\",\"created\":1760000000,\"owned_by\":\"mock\"}]}";
    int n = write_json_head(models, strlen(LIST));
    strcpy(models + n, LIST);
    models_length = n + strlen(LIST);
}

/* Requests */

static char *find_header(char *head, int length, const char *name) {
    int n = strlen(name);
    for (int i = 0; i + n <= length; i++)
        if (!strncasecmp(head + i, name, n)) return head + i + n;
    return NULL;
}

/* The length of a chunked body up to its last chunk, or -1 while it is not all here. Its chunks are not joined. */
static int chunked_length(char *body, int length) {
    char *end = memmem(body, length, "0\r\n\r\n", 5);
    while (end && end != body && end[-1] != '\n') end = memmem(end + 1, body + length - end - 1, "0\r\n\r\n", 5);
    return end ? end - body : -1;
}

/* Handles one request of the input, if a whole one is there. */
static int handle(int fd) {
    Connection *c = &connections[fd];
    if (c->streaming) return 0;
    char *blank = memmem(c->in, c->in_length, "\r\n\r\n", 4);
    if (!blank) return 0;
    int head = blank - c->in + 4, body = 0, used = head;
    char *declared = find_header(c->in, head, "\r\ncontent-length:");
    if (declared) {
        body = atoi(declared);
        used = head + body;
        if (c->in_length < used) return 0;
    } else if (find_header(c->in, head, "\r\ntransfer-encoding: chunked")) {
        body = chunked_length(c->in + head, c->in_length - head);
        if (body < 0) return 0;
        used = head + body + 5;
    }
    if (!memcmp(c->in, "POST", 4))
        answer(fd, c->in + head, body, !memcmp(c->in + 4, " /v1/messages", 13));
    else
        write_out(fd, models, models_length);
    memmove(c->in, c->in + used, c->in_length - used);
    c->in_length -= used;
    return 1;
}

static void handle_all(int fd) {
    while (connections[fd].in_length && handle(fd)) continue;
}

/* The loop */

static void accept_all(int listener) {
    int fd, one = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        memset(&connections[fd], 0, sizeof(Connection));
        connections[fd].in = malloc(READ_BUFFER);
        watch(fd, EPOLLIN, EPOLL_CTL_ADD);
    }
}

static void read_in(int fd) {
    Connection *c = &connections[fd];
    int got = recv(fd, c->in + c->in_length, READ_BUFFER - c->in_length, 0);
    if (got > 0) {
        c->in_length += got;
        handle_all(fd);
    } else if (got < 0 && errno == EAGAIN) {
        return;
    } else if (c->streaming) { /* it still stands in a queue, which closes it when its turn comes */
        c->closing = 1;
        epoll_ctl(poller, EPOLL_CTL_DEL, fd, NULL);
    } else
        drop(fd);
}

static void on_event(int fd, uint32_t events) {
    if (!connections[fd].in) return;
    if (events & EPOLLOUT) {
        flush_out(fd);
        if (connections[fd].out_length == 0) watch(fd, EPOLLIN, EPOLL_CTL_MOD);
    }
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_in(fd);
}

/* One chunk of the stream at the head of a queue; it goes back to the tail while it lasts. */
static void step(Queue *queue, int64_t now) {
    int fd = pop(queue);
    Connection *c = &connections[fd];
    if (c->closing) {
        drop(fd);
        return;
    }
    send_chunk(fd);
    if (c->streaming) {
        c->due = now + c->plan.pace;
        push(queue, fd);
    } else
        handle_all(fd);
}

static void step_all(void) {
    for (unsigned n = fast.tail - fast.head; n > 0; n--) step(&fast, 0);
    if (empty(&paced)) return;
    int64_t now = now_ns();
    while (!empty(&paced) && connections[paced.fds[paced.head % MAX_FDS]].due <= now) step(&paced, now);
}

static int wait_for_events(struct epoll_event *events) {
    struct timespec wait = {0, 0}, *until = NULL;
    if (!empty(&fast))
        until = &wait;
    else if (!empty(&paced)) {
        int64_t left = connections[paced.fds[paced.head % MAX_FDS]].due - now_ns();
        if (left > 0) wait = (struct timespec){left / 1000000000, left % 1000000000};
        until = &wait;
    }
    return epoll_pwait2(poller, events, EVENTS, until, NULL);
}

static int listen_on(int port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 4096)) {
        perror("mock: listen");
        exit(1);
    }
    return fd;
}

int main(int count, char **arguments) {
    if (count < 2) {
        fprintf(stderr, "usage: mock PORT [CHUNKS]\n");
        return 2;
    }
    if (count > 2) chunks_per_stream = atoi(arguments[2]);
    signal(SIGPIPE, SIG_IGN);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max < MAX_FDS ? files.rlim_max : MAX_FDS;
    setrlimit(RLIMIT_NOFILE, &files);
    prepare_answers();
    write_models();
    int listener = listen_on(atoi(arguments[1]));
    poller = epoll_create1(0);
    watch(listener, EPOLLIN, EPOLL_CTL_ADD);
    for (;;) {
        struct epoll_event events[EVENTS];
        int ready = wait_for_events(events);
        for (int i = 0; i < ready; i++) {
            if (events[i].data.fd == listener)
                accept_all(listener);
            else
                on_event(events[i].data.fd, events[i].events);
        }
        step_all();
    }
}

/* What the mock answers: a plan per request, read from a marker in its text. See answers.c. */
#ifndef ANSWERS_H
#define ANSWERS_H
#include <stdint.h>

enum { MAX_CALLS = 2, MAX_NAME = 64, MAX_EVENT = 1024, MAX_COMPLETION = 16384 };
enum { NO_OBFUSCATION, UNLESS_ASKED_NOT_TO, ALWAYS };

typedef struct {
    char serial[11];     /* "" without a marker: always the same answer */
    int messages;        /* in Anthropic's protocol */
    int stream, texts, choices, shapes, bare, obfuscation, usage;
    char calls[MAX_CALLS][MAX_NAME];
    int call_count;
    int64_t pace;        /* nanoseconds between chunks */
    uint64_t random;
    int piece;           /* the next word of the text */
    char id[40];
} Plan;

int64_t now_ns(void);
void prepare_answers(void);
void read_plan(Plan *plan, const char *body, int length, int chunks, int messages);
int write_text(Plan *plan, int number, char *to);
int write_prose(Plan *plan, char *to);
int event_count(const Plan *plan);
int write_event(Plan *plan, int number, char *to);
int write_completion(Plan *plan, char *to);

/* messages.c: the same in Anthropic's protocol */
int write_messages_event(Plan *plan, int number, char *to);
int write_messages_answer(Plan *plan, char *to);
#endif

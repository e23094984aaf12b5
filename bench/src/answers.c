/* The answers of the mock upstream. The text of a request decides, by a marker anywhere in it:
 *
 *   [mock 0000012345 WORD…]   the number seeds what varies (id, text, length, escapes, fingerprint), and stands at the
 *                             end of the answer as "#0000012345", so that a client can tell a whole answer of its own
 *     pace=US                 chunks that many microseconds apart; one value per run
 *     chunks=N                N events of a stream with one choice (two of them open and end it)
 *     choices=2               two choices, interleaved
 *     shapes                  the chunks' keys, their order and their nulls change from chunk to chunk
 *     bare                    a whole answer without details of usage and without nulls, as vLLM sends it
 *     obfuscation             an "obfuscation" of changing length, unless include_obfuscation is false
 *     obfuscation=always      the same, whatever was asked
 *     call=NAME               a call of this tool instead of text; at most twice (whole answers only)
 *
 * Without a number ("[mock pace=5000]", or no marker at all) each answer is the same, to the letter.
 */
#define _GNU_SOURCE
#include "answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_PIECES = 1024, STAMP_EVERY = 16 };

/* As they stand in JSON: escapes are escapes of JSON. Harmless, so that no evaluator blocks an answer. */
static const char *const SENTENCES[] = {
    "The library opens at nine, and a short line waits at the door.",
    "She said \\\"good morning\\\" to the baker and bought two loaves of rye bread.",
    "Trains to Z\xc3\xbcrich leave every hour from platform 4.",
    "First, measure the flour;\\nthen add the water, a little at a time.",
    "The caf\\u00e9 on the corner serves soup, salad and fresh juice.",
    "Our tour of \xe6\x9d\xb1\xe4\xba\xac ends at the old garden near the river.",
    "A good index makes the query about 12 times faster than a full scan.",
    "Open the file C:\\\\data\\\\notes.txt and copy the third line.",
    "The children painted a blue house, a yellow sun and a very large tree.",
    "Rain is expected in the evening, with 18 \xc2\xb0""C and a light wind.\\n\\n",
    "In summary: plan early, write things down, and ask when something is unclear.",
    "The museum\xe2\x80\x99s new wing shows maps, clocks and early photographs.",
    "Use `git status` to see which files have changed since the last commit.",
    "Everybody clapped when the choir had finished its last song \xf0\x9f\x8e\xb5",
    "The recipe needs 250 g of sugar, three eggs and the peel of one lemon.",
    "Thank you for the report \\ud83d\\ude00 we will look at it on Monday.",
    "A budget has two columns: what comes in, and what goes out.",
    "The path \\/api\\/orders returns a list, newest first, fifty at a time.",
    "Tomatoes grow best in full sun, with water in the morning.",
    "The second chapter explains how bridges carry their load.",
    "\\t- bring warm clothes\\n\\t- bring a map\\n\\t- tell a friend where you go",
    "Her grandmother kept letters, buttons and ribbons in a tin box.",
    "The meeting moved to Thursday at half past ten, in the small room.",
    "Both answers are right; the shorter one is easier to remember.",
};
enum { SENTENCE_COUNT = sizeof SENTENCES / sizeof *SENTENCES };

static struct {
    char text[64]; /* one word with the space before it: a client counts spaces to count words */
} pieces[MAX_PIECES];
static int piece_count;

static const char SAME_ID[] = "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG";

int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

void prepare_answers(void) {
    for (int i = 0; i < SENTENCE_COUNT; i++) {
        char copy[512];
        strcpy(copy, SENTENCES[i]);
        for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
            snprintf(pieces[piece_count++].text, sizeof pieces->text, " %s", word);
    }
}

/* What varies */

static uint32_t next(Plan *plan, uint32_t below) { /* splitmix64 */
    uint64_t z = plan->random += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return (uint32_t)((z ^ (z >> 31)) >> 16) % below;
}

static void write_letters(Plan *plan, char *to, int count) {
    static const char LETTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    for (int i = 0; i < count; i++) to[i] = LETTERS[next(plan, sizeof LETTERS - 1)];
    to[count] = 0;
}

static int created(const Plan *plan) { return 1760000000 + atoi(plan->serial) % 100000; }

/* Reading a request */

static int has(const char *body, int length, const char *what) { return memmem(body, length, what, strlen(what)) != NULL; }

static int has_flag(const char *body, int length, const char *key, const char *value) {
    char tight[64], wide[64];
    snprintf(tight, sizeof tight, "\"%s\":%s", key, value);
    snprintf(wide, sizeof wide, "\"%s\": %s", key, value);
    return has(body, length, tight) || has(body, length, wide);
}

static void read_word(Plan *plan, const char *word) {
    if (strspn(word, "0123456789") == 10 && !word[10])
        strcpy(plan->serial, word);
    else if (!strncmp(word, "pace=", 5))
        plan->pace = atoll(word + 5) * 1000;
    else if (!strncmp(word, "chunks=", 7))
        plan->texts = atoi(word + 7) - 2;
    else if (!strncmp(word, "choices=", 8))
        plan->choices = atoi(word + 8);
    else if (!strcmp(word, "shapes"))
        plan->shapes = 1;
    else if (!strcmp(word, "bare"))
        plan->bare = 1;
    else if (!strcmp(word, "obfuscation"))
        plan->obfuscation = UNLESS_ASKED_NOT_TO;
    else if (!strcmp(word, "obfuscation=always"))
        plan->obfuscation = ALWAYS;
    else if (!strncmp(word, "call=", 5) && plan->call_count < MAX_CALLS)
        snprintf(plan->calls[plan->call_count++], MAX_NAME, "%s", word + 5);
}

static void read_marker(Plan *plan, const char *body, int length) {
    const char *begin = memmem(body, length, "[mock ", 6);
    const char *end = begin ? memchr(begin, ']', body + length - begin) : NULL;
    char marker[512];
    if (!end || end - begin >= (long)sizeof marker) return;
    memcpy(marker, begin + 6, end - begin - 6);
    marker[end - begin - 6] = 0;
    for (char *word = strtok(marker, " "); word; word = strtok(NULL, " ")) read_word(plan, word);
}

void read_plan(Plan *plan, const char *body, int length, int chunks, int messages) {
    memset(plan, 0, sizeof *plan);
    plan->messages = messages;
    plan->texts = chunks - 2;
    plan->choices = 1;
    plan->stream = has_flag(body, length, "stream", "true");
    read_marker(plan, body, length);
    strcpy(plan->id, SAME_ID);
    if (!plan->serial[0]) return;
    plan->random = strtoull(plan->serial, NULL, 10) * 0x2545f4914f6cdd1dULL;
    plan->piece = next(plan, piece_count);
    write_letters(plan, plan->id + 9, 29);
    if (!plan->stream) return;
    plan->usage = has_flag(body, length, "include_usage", "true");
    if (plan->obfuscation == UNLESS_ASKED_NOT_TO && has_flag(body, length, "include_obfuscation", "false"))
        plan->obfuscation = NO_OBFUSCATION;
}

/* Streams: a first chunk per choice, `texts` chunks of one word each, an end per choice, and the usage if asked for. */

int event_count(const Plan *plan) { return plan->texts + 2 * plan->choices + plan->usage; }

int write_text(Plan *plan, int number, char *to) {
    if (!plan->serial[0]) return sprintf(to, " t=%lld", (long long)now_ns());
    if (number == plan->texts - 1) return sprintf(to, " #%s", plan->serial);
    if (number % STAMP_EVERY == 1) return sprintf(to, " t=%lld", (long long)now_ns());
    return sprintf(to, "%s", pieces[plan->piece++ % piece_count].text);
}

/* -> the choice's number; `delta` and `finish` become what stands in it. */
static int write_delta(Plan *plan, int number, int repeats_role, char *delta, char *finish) {
    int text = number - plan->choices, over = text - plan->texts;
    strcpy(finish, "null");
    if (text < 0)
        strcpy(delta, "{\"role\":\"assistant\",\"content\":\"\"}");
    else if (over >= 0) {
        strcpy(delta, "{}");
        strcpy(finish, "\"stop\"");
        return over;
    } else {
        int n = sprintf(delta, "{%s\"content\":\"", repeats_role ? "\"role\":\"assistant\"," : "");
        n += write_text(plan, text, delta + n);
        strcpy(delta + n, "\"}");
    }
    return number % plan->choices;
}

static int write_usage_event(Plan *plan, char *to) {
    return sprintf(to,
                   "data: {\"id\":\"%s\",\"object\":\"chat.completion.chunk\",\"created\":%d,\"model\":\"mock-model\","
                   "\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d,\"total_tokens\":%d}}\n\n",
                   plan->id, created(plan), 80, plan->texts, 80 + plan->texts);
}

static int write_shape(Plan *plan, int shape, int choice, const char *delta, const char *finish, char *to) {
    static const char *const SHAPES[] = {
        "data: {\"id\":\"%1$s\",\"object\":\"chat.completion.chunk\",\"created\":%2$d,\"model\":\"mock-model\","
        "\"choices\":[{\"index\":%3$d,\"delta\":%4$s,\"logprobs\":null,\"finish_reason\":%5$s}]",
        "data: {\"id\":\"%1$s\",\"object\":\"chat.completion.chunk\",\"created\":%2$d,\"model\":\"mock-model\","
        "\"choices\":[{\"index\":%3$d,\"delta\":%4$s,\"finish_reason\":%5$s}]",
        "data: {\"choices\":[{\"finish_reason\":%5$s,\"delta\":%4$s,\"index\":%3$d,\"logprobs\":null}],"
        "\"object\":\"chat.completion.chunk\",\"id\":\"%1$s\",\"model\":\"mock-model\",\"created\":%2$d",
        "data: {\"id\":\"%1$s\",\"object\":\"chat.completion.chunk\",\"created\":%2$d,\"model\":\"mock-model\","
        "\"service_tier\":\"default\",\"system_fingerprint\":\"fp_44709d6fcb\","
        "\"choices\":[{\"index\":%3$d,\"delta\":%4$s,\"logprobs\":null,\"finish_reason\":%5$s}],\"usage\":null",
        "data: {\"id\":\"%1$s\",\"created\":%2$d,\"object\":\"chat.completion.chunk\",\"model\":\"mock-model\","
        "\"choices\":[{\"delta\":%4$s,\"index\":%3$d,\"finish_reason\":%5$s}],\"provider\":\"mock\"",
    };
    enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };
    return sprintf(to, SHAPES[shape % SHAPE_COUNT], plan->id, created(plan), choice, delta, finish);
}

int write_event(Plan *plan, int number, char *to) {
    char delta[256], finish[16], letters[32];
    if (plan->messages) return write_messages_event(plan, number, to);
    if (number == plan->texts + 2 * plan->choices) return write_usage_event(plan, to);
    int shape = plan->shapes ? next(plan, 5) : 0;
    int choice = write_delta(plan, number, plan->shapes && next(plan, 4) == 0, delta, finish);
    int n = write_shape(plan, shape, choice, delta, finish, to);
    if (plan->obfuscation) {
        write_letters(plan, letters, 1 + next(plan, 16));
        n += sprintf(to + n, "%s,\"obfuscation\":\"%s\"", plan->usage && !plan->shapes ? ",\"usage\":null" : "", letters);
    }
    return n + sprintf(to + n, "}\n\n");
}

/* Whole answers */

int write_prose(Plan *plan, char *to) {
    if (!plan->serial[0])
        return sprintf(to, "The quick brown fox jumps over the lazy dog. Sphinx of black quartz, judge my vow. Pack my box with "
                           "five dozen liquor jugs. How vexingly quick daft zebras jump!");
    int n = 0, sentences = 1 + next(plan, 12), from = next(plan, SENTENCE_COUNT);
    for (int i = 0; i < sentences; i++) n += sprintf(to + n, "%s ", SENTENCES[(from + i) % SENTENCE_COUNT]);
    return n + sprintf(to + n, "#%s", plan->serial);
}

static int write_call(Plan *plan, const char *name, char *to) {
    char id[32];
    write_letters(plan, id, 24);
    return sprintf(to,
                   "{\"id\":\"call_%s\",\"type\":\"function\",\"function\":{\"name\":\"%s\",\"arguments\":"
                   "\"{\\\"query\\\":\\\"%s\\\",\\\"limit\\\":%u,\\\"reference\\\":\\\"#%s\\\"}\"}}",
                   id, name, pieces[next(plan, 12)].text + 1, 1 + next(plan, 50), plan->serial);
}

static int write_message(Plan *plan, char *to) {
    int n = sprintf(to, "{\"role\":\"assistant\",\"content\":");
    if (!plan->call_count) {
        n += sprintf(to + n, "\"");
        n += write_prose(plan, to + n);
        return n + sprintf(to + n, plan->bare ? "\"}" : "\",\"refusal\":null,\"annotations\":[]}");
    }
    n += sprintf(to + n, "null,\"tool_calls\":[");
    for (int i = 0; i < plan->call_count; i++) {
        if (i) to[n++] = ',';
        n += write_call(plan, plan->calls[i], to + n);
    }
    return n + sprintf(to + n, plan->bare ? "]}" : "],\"refusal\":null,\"annotations\":[]}");
}

int write_completion(Plan *plan, char *to) {
    if (plan->messages) return write_messages_answer(plan, to);
    int prompt = plan->serial[0] ? 40 + next(plan, 4000) : 82, answer = plan->serial[0] ? 10 + next(plan, 400) : 37;
    int n = sprintf(to,
                    "{\"id\":\"%s\",\"object\":\"chat.completion\",\"created\":%d,\"model\":\"mock-model\","
                    "\"choices\":[{\"index\":0,\"message\":",
                    plan->id, created(plan));
    n += write_message(plan, to + n);
    n += sprintf(to + n, ",\"logprobs\":null,\"finish_reason\":\"%s\"}],", plan->call_count ? "tool_calls" : "stop");
    n += sprintf(to + n, "\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d,\"total_tokens\":%d", prompt, answer,
                 prompt + answer);
    if (plan->bare) return n + sprintf(to + n, "}}");
    n += sprintf(to + n, ",\"prompt_tokens_details\":{\"cached_tokens\":0,\"audio_tokens\":0},\"completion_tokens_details\":"
                         "{\"reasoning_tokens\":0,\"audio_tokens\":0,\"accepted_prediction_tokens\":0,"
                         "\"rejected_prediction_tokens\":0}},\"service_tier\":\"default\",");
    return n + sprintf(to + n, "\"system_fingerprint\":\"fp_mock%07u\"}", plan->serial[0] ? next(plan, 8) : 0);
}

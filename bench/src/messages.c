/* The answers of the mock upstream in Anthropic's protocol (Messages): one text block, the same words as in answers.c. */
#define _GNU_SOURCE
#include <stdio.h>

#include "answers.h"

static int write_opening(Plan *plan, char *to) {
    return sprintf(to,
                   "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_%s\",\"type\":"
                   "\"message\",\"role\":\"assistant\",\"model\":\"mock-model\",\"content\":[],\"stop_reason\":null,"
                   "\"stop_sequence\":null,\"usage\":{\"input_tokens\":80,\"output_tokens\":1}}}\n\n"
                   "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,"
                   "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
                   plan->id + 9);
}

static int write_ending(Plan *plan, char *to) {
    return sprintf(to,
                   "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
                   "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\","
                   "\"stop_sequence\":null},\"usage\":{\"output_tokens\":%d}}\n\n"
                   "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
                   plan->texts);
}

/* Three events end a stream, and two begin it; they leave together. */
int write_messages_event(Plan *plan, int number, char *to) {
    if (number == 0) return write_opening(plan, to);
    if (number > plan->texts) return write_ending(plan, to);
    int n = sprintf(to, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"
                        "\"delta\":{\"type\":\"text_delta\",\"text\":\"");
    n += write_text(plan, number - 1, to + n);
    return n + sprintf(to + n, "\"}}\n\n");
}

int write_messages_answer(Plan *plan, char *to) {
    int n = sprintf(to,
                    "{\"id\":\"msg_%s\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"mock-model\","
                    "\"content\":[{\"type\":\"text\",\"text\":\"",
                    plan->id + 9);
    n += write_prose(plan, to + n);
    return n + sprintf(to + n, "\"}],\"stop_reason\":\"end_turn\",\"stop_sequence\":null,\"usage\":"
                               "{\"input_tokens\":80,\"output_tokens\":40}}");
}

// The openai package for Node where something is blocked or annotated: calls, streams, helpers, moderations.

import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";

import { main, told } from "./verdict.mjs";

const messages = [{ role: "user", content: "Hi" }];
const forbidden = [{ role: "user", content: "Please say forbiddenword." }];
const usage = { stream_options: { include_usage: true } };
const weather = { type: "function", function: { name: "get_weather", parameters: { type: "object" } } };
const Person = z.object({ name: z.string(), age: z.number() });
const inputs = ["Hello, how are you today?", "I will kill you and everyone in your family."];

function connect(base, dialect) {
  const client = new OpenAI({ baseURL: base, apiKey: "any", maxRetries: 0, timeout: 20_000 });
  return { chat: client.chat.completions, client, dialect };
}

const tokens = (counts) => counts ? [counts.prompt_tokens, counts.completion_tokens, counts.total_tokens] : null;

// Every choice, and what was found in it.
function read(completion) {
  const { choices } = completion;
  return {
    text: choices.map((choice) => choice.message.content),
    finish: choices.map((choice) => choice.finish_reason),
    calls: choices.reduce((sum, choice) => sum + (choice.message.tool_calls ?? []).length, 0),
    usage: tokens(completion.usage),
    prompt: completion.prompt_filter_results,
    answer: choices.map((choice) => choice.content_filter_results),
  };
}

// The same of a stream; of the findings those with the finish.
function joined(chunks) {
  const choices = chunks.flatMap((chunk) => chunk.choices).sort((one, other) => one.index - other.index);
  const ends = choices.filter((choice) => choice.finish_reason);
  const text = [];
  for (const { index, delta } of choices) text[index] = (text[index] ?? "") + (delta.content ?? "");
  return {
    text,
    finish: ends.map((choice) => choice.finish_reason),
    calls: choices.reduce((sum, choice) => sum + (choice.delta.tool_calls ?? []).length, 0),
    usage: chunks.filter((chunk) => chunk.usage).map((chunk) => tokens(chunk.usage)),
    prompt: chunks.flatMap((chunk) => chunk.prompt_filter_results ?? []),
    answer: ends.map((choice) => choice.content_filter_results),
    "all annotated": choices.every((choice) => choice.content_filter_results),
  };
}

async function streamed(it, model, more = {}) {
  const chunks = [];
  for await (const chunk of await it.chat.create({ model, messages, stream: true, ...usage, ...more })) {
    chunks.push(chunk);
  }
  return joined(chunks);
}

const helper = (it, body) => it.chat.stream({ messages, ...body }).finalChatCompletion();

// The error, and the verdict in its body.
async function refused(asked) {
  try {
    return await asked;
  } catch (error) {
    return { ...told(error), found: error.error?.innererror?.content_filter_result };
  }
}

// The word is said after some text has been read.
async function late(it) {
  const name = `node-${it.dialect}`;
  const chunks = [];
  let heard = false;
  for await (const chunk of await it.chat.create({ model: `late-word-${name}`, messages, stream: true, ...usage })) {
    chunks.push(chunk);
    if (!heard && chunk.choices[0]?.delta.content) {
      heard = true;
      await it.chat.create({ model: `go-on-${name}`, messages });
    }
  }
  return joined(chunks);
}

const cases = {
  prompt: (it) => refused(it.chat.create({ model: "text", messages: forbidden })),
  prompt_stream: (it) => refused(it.chat.create({ model: "text", messages: forbidden, stream: true })),
  prompt_helper: (it) => refused(helper(it, { model: "text", messages: forbidden })),
  blocked: async (it) => read(await it.chat.create({ model: "blocked", messages })),
  blocked_of_two: async (it) => read(await it.chat.create({ model: "blocked-of-two", messages, n: 2 })),
  blocked_tools: async (it) => read(await it.chat.create({ model: "blocked-tools", messages, tools: [weather] })),
  blocked_stream: (it) => streamed(it, "blocked"),
  blocked_of_two_stream: (it) => streamed(it, "blocked-of-two", { n: 2 }),
  blocked_tools_stream: (it) => streamed(it, "blocked-tools", { tools: [weather] }),
  blocked_late: late,
  helper_blocked: async (it) => read(await helper(it, { model: "blocked" })),
  parse_blocked: (it) =>
    it.chat.parse({ model: "blocked", messages, response_format: zodResponseFormat(Person, "person") }),
  annotated: async (it) => read(await it.chat.create({ model: "text", messages })),
  annotated_stream: (it) => streamed(it, "text"),
  annotated_helper: async (it) => read(await helper(it, { model: "text", ...usage })),
  async_stream: async (it) => {
    const seen = { text: "", finish: [], usage: [], told: [] };
    for await (const chunk of await it.chat.create({ model: "text-async", messages, stream: true, ...usage })) {
      if (chunk.usage) seen.usage.push(tokens(chunk.usage));
      for (const { delta, finish_reason, ...more } of chunk.choices) {
        seen.text += delta.content ?? "";
        if (finish_reason) seen.finish.push(finish_reason);
        if (more.content_filter_offsets) seen.told.push(more);
      }
    }
    return seen;
  },
  async_helper: async (it) => {
    const completion = await helper(it, { model: "text-async", ...usage });
    return [completion.choices[0].message.content, completion.choices[0].finish_reason, tokens(completion.usage)];
  },
  moderations: async (it) => {
    const { results } = await it.client.moderations.create({ input: inputs });
    return results.map((one) => [one.flagged, one.categories.violence, Object.keys(one.categories).length]);
  },
};

await main(cases, connect);

// The openai package for Node: create, streams, the .stream() and .parse() helpers, retries, errors.

import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";

import { main } from "./verdict.mjs";

const messages = [{ role: "user", content: "Hi" }];
const usage = { stream_options: { include_usage: true } };
const Person = z.object({ name: z.string(), age: z.number() });
const weather = {
  type: "function",
  function: { name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
};

function connect(base, dialect) {
  const client = new OpenAI({ baseURL: base, apiKey: "any", maxRetries: 0, timeout: 20_000 });
  return { chat: client.chat.completions, models: client.models, client, dialect };
}

function read(completion) {
  const [choice] = completion.choices;
  return {
    text: choice.message.content,
    finish: choice.finish_reason,
    usage: tokens(completion.usage),
    calls: (choice.message.tool_calls ?? []).map((call) => [
      call.id,
      call.type,
      call.function.name,
      JSON.parse(call.function.arguments),
    ]),
    role: choice.message.role,
    model: completion.model,
  };
}

const tokens = (counts) => counts ? [counts.prompt_tokens, counts.completion_tokens, counts.total_tokens] : null;

async function joined(stream) {
  const seen = { text: "", roles: [], finish: [], usage: [] };
  const ids = new Set();
  for await (const chunk of stream) {
    ids.add(chunk.id);
    if (chunk.usage) seen.usage.push(tokens(chunk.usage));
    for (const choice of chunk.choices) {
      seen.text += choice.delta.content ?? "";
      if (choice.delta.role) seen.roles.push(choice.delta.role);
      if (choice.finish_reason) seen.finish.push(choice.finish_reason);
    }
  }
  return { ...seen, ids: ids.size };
}

const helper = (it, model, more = {}) => it.chat.stream({ model, messages, ...more }).finalChatCompletion();

const cases = {
  text: async (it) => read(await it.chat.create({ model: "text", messages })),
  crooked_text: async (it) => read(await it.chat.create({ model: "crooked-text", messages })),
  stream: async (it) => joined(await it.chat.create({ model: "text", messages, stream: true, ...usage })),
  stream_crooked: async (it) => joined(await it.chat.create({ model: "crooked-text", messages, stream: true })),
  helper_text: async (it) => read(await helper(it, "text", usage)),
  helper_crooked_text: async (it) => read(await helper(it, "crooked-text", usage)),
  helper_tools: async (it) => read(await helper(it, "tools", { tools: [weather] })),
  helper_crooked_tools: async (it) => read(await helper(it, "crooked-tools", { tools: [weather] })),
  helper_two: async (it) => (await helper(it, "two", { n: 2 })).choices.map((choice) => choice.message.content),
  helper_length: async (it) => read(await helper(it, "length")),
  helper_logprobs: async (it) =>
    (await helper(it, "logprobs", { logprobs: true })).choices[0].logprobs.content.map((entry) => entry.token),
  parse: async (it) => {
    const format = zodResponseFormat(Person, "person");
    return (await it.chat.parse({ model: "person", messages, response_format: format })).choices[0].message.parsed;
  },
  tools: async (it) => read(await it.chat.create({ model: "crooked-tools", messages, tools: [weather] })),
  run_tools: async (it) => {
    const heard = [];
    const run = (given) => (heard.push(JSON.parse(given).city), "sunny");
    const tool = { type: "function", function: { ...weather.function, function: run } };
    const runner = it.chat.runTools({ model: "crooked-tools", messages, tools: [tool], stream: true });
    return [await runner.finalContent(), heard];
  },
  refusal: async (it) => {
    const { message } = (await it.chat.create({ model: "refusal", messages })).choices[0];
    return [message.content, message.refusal];
  },
  headers: async (it) => {
    const { data, response, request_id } = await it.chat.create({ model: "text", messages }).withResponse();
    return [request_id.slice(0, 4), response.headers.get("content-type").split(";")[0], data.model];
  },
  models: async (it) => {
    const ids = [];
    for await (const model of it.models.list()) ids.push(model.id);
    return [ids, (await it.models.retrieve("text")).id];
  },
  retry: async (it) => {
    const body = { model: `busy-node-${it.dialect}`, messages };
    return (await it.chat.create(body, { maxRetries: 2 })).choices[0].message.content;
  },
  invalid: async (it) => read(await it.chat.create({ model: "text", messages, temperature: 3 })),
  wrong: async (it) => read(await it.chat.create({ model: "wrong", messages })),
  locked: async (it) => read(await it.chat.create({ model: "locked", messages })),
  late_error: async (it) => joined(await it.chat.create({ model: "late-error", messages, stream: true })),
  truncated: async (it) => joined(await it.chat.create({ model: "truncated", messages, stream: true })),
  helper_truncated: async (it) => read(await helper(it, "truncated")),
  abort: async (it) => {
    const stream = await it.chat.create({ model: "text", messages, stream: true });
    let chunks = 0;
    for await (const _ of stream) {
      chunks += 1;
      stream.controller.abort();
    }
    return chunks > 0 && (await it.chat.create({ model: "text", messages })).choices[0].message.content;
  },
};

await main(cases, connect);

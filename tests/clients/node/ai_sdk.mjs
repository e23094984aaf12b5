// The Vercel AI SDK with both of its OpenAI providers: text, streams, tools, objects, errors.

import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateObject, generateText, isStepCount, stepCountIs, streamObject, streamText, tool } from "ai";
import { z } from "zod";

import { main, told } from "./verdict.mjs";

const prompt = "Hi";
const Person = z.object({ name: z.string(), age: z.number() });
const twoSteps = (stepCountIs ?? isStepCount)(2);

const providers = {
  openai: (baseURL) => createOpenAI({ baseURL, apiKey: "any" }).chat,
  compatible: (baseURL) => {
    const options = { name: "gateway", baseURL, apiKey: "any", includeUsage: true, supportsStructuredOutputs: true };
    return createOpenAICompatible(options).chatModel;
  },
};

function connect(kind) {
  return (base, dialect) => {
    const model = providers[kind](base);
    return { of: (name) => ({ model: model(name), prompt, maxRetries: 0 }), dialect };
  };
}

function read(result) {
  return {
    text: result.text,
    finish: result.finishReason,
    usage: [result.usage.inputTokens, result.usage.outputTokens, result.usage.totalTokens],
    reasoning: result.reasoningText ?? null,
  };
}

// Errors of a stream are parts of it, not exceptions.
async function streamed(options) {
  const seen = { text: "", reasoning: "", finish: null, errors: [], usage: null };
  for await (const part of streamText({ ...options, onError: () => {} }).fullStream) {
    if (part.type === "text-delta") seen.text += part.text;
    if (part.type === "reasoning-delta") seen.reasoning += part.text;
    if (part.type === "error") seen.errors.push(told(part.error));
    if (part.type === "finish") {
      seen.finish = part.finishReason;
      seen.usage = [part.totalUsage.inputTokens, part.totalUsage.outputTokens, part.totalUsage.totalTokens];
    }
  }
  return seen;
}

function weather(heard) {
  const execute = ({ city }) => (heard.push(city), "sunny");
  return { get_weather: tool({ description: "weather", inputSchema: z.object({ city: z.string() }), execute }) };
}

async function generateLoop(options) {
  const heard = [];
  const { text } = await generateText({ ...options, tools: weather(heard), stopWhen: twoSteps });
  return [text, heard];
}

async function streamLoop(options) {
  const heard = [];
  const { text, errors } = await streamed({ ...options, tools: weather(heard), stopWhen: twoSteps });
  return [text, heard, errors];
}

async function onlyCalls(options) {
  const tools = { get_weather: tool({ description: "weather", inputSchema: z.object({ city: z.string() }) }) };
  const parts = [];
  for await (const part of streamText({ ...options, tools, onError: () => {} }).fullStream) parts.push(part);
  const calls = parts.filter((part) => part.type === "tool-call");
  return [parts.filter((part) => part.type.startsWith("text")).length, calls.map((call) => call.input)];
}

async function firstCalls(options) {
  const tools = { get_weather: tool({ description: "weather", inputSchema: z.object({ city: z.string() }) }) };
  const { toolCalls, finishReason } = await generateText({ ...options, tools });
  return [toolCalls.map((call) => [call.toolCallId, call.toolName, call.input]), finishReason];
}

async function objectStream(options) {
  const { partialObjectStream, object } = streamObject({ ...options, schema: Person });
  let partials = 0;
  for await (const _ of partialObjectStream) partials += 1;
  return [await object, partials > 0];
}

const cases = {
  text: async (it) => read(await generateText(it.of("text"))),
  crooked_text: async (it) => (await generateText(it.of("crooked-text"))).text,
  stream: async (it) => streamed(it.of("text")),
  stream_crooked: async (it) => (await streamed(it.of("crooked-text"))).text,
  calls: async (it) => firstCalls(it.of("crooked-tools")),
  tool_loop: async (it) => generateLoop(it.of("tools")),
  crooked_tool_loop: async (it) => generateLoop(it.of("crooked-tools")),
  stream_tool_loop: async (it) => streamLoop(it.of("tools")),
  stream_crooked_tool_loop: async (it) => streamLoop(it.of("crooked-tools")),
  stream_only_calls: async (it) => onlyCalls(it.of("only-calls")),
  object: async (it) => (await generateObject({ ...it.of("person"), schema: Person })).object,
  object_stream: async (it) => objectStream(it.of("person")),
  reasoning: async (it) => read(await generateText(it.of("reasoning"))),
  stream_reasoning: async (it) => streamed(it.of("reasoning")),
  length: async (it) => streamed(it.of("length")),
  filtered: async (it) => streamed(it.of("filtered")),
  wrong: async (it) => read(await generateText(it.of("wrong"))),
  late_error: async (it) => streamed(it.of("late-error")),
  truncated: async (it) => streamed(it.of("truncated")),
};

for (const kind of Object.keys(providers)) {
  const named = Object.fromEntries(Object.entries(cases).map(([name, run]) => [`${kind} ${name}`, run]));
  await main(named, connect(kind));
}

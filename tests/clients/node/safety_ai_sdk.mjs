// The Vercel AI SDK with both of its OpenAI providers where something is blocked or annotated.

import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateObject, generateText, isStepCount, stepCountIs, streamObject, streamText, tool } from "ai";
import { z } from "zod";

import { main, told } from "./verdict.mjs";

const Person = z.object({ name: z.string(), age: z.number() });
const forbidden = "Please say forbiddenword.";
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
    return { of: (name, prompt = "Hi") => ({ model: model(name), prompt, maxRetries: 0 }), dialect };
  };
}

const tokens = (usage) => [usage.inputTokens, usage.outputTokens, usage.totalTokens];

async function generated(options) {
  const { text, finishReason, usage, toolCalls } = await generateText(options);
  return { text, finish: finishReason, usage: tokens(usage), calls: toolCalls.length, errors: [] };
}

// Errors of a stream are parts of it, not exceptions.
async function streamed(options) {
  const seen = { text: "", finish: null, usage: null, calls: 0, errors: [] };
  for await (const part of streamText({ ...options, onError: () => {} }).fullStream) {
    if (part.type === "text-delta") seen.text += part.text;
    if (part.type === "tool-call") seen.calls += 1;
    if (part.type === "error") seen.errors.push(told(part.error));
    if (part.type === "finish") Object.assign(seen, { finish: part.finishReason, usage: tokens(part.totalUsage) });
  }
  return seen;
}

function withWeather(options) {
  const execute = ({ city }) => {
    throw new Error(`called with ${city}`);
  };
  const weather = tool({ description: "weather", inputSchema: z.object({ city: z.string() }), execute });
  return { ...options, tools: { get_weather: weather }, stopWhen: twoSteps };
}

async function objectStream(options) {
  const { partialObjectStream, object } = streamObject({ ...options, schema: Person, onError: () => {} });
  const outcome = object.then((found) => found, told);
  for await (const _ of partialObjectStream);
  return outcome;
}

const cases = {
  prompt: (it) => generated(it.of("text", forbidden)),
  prompt_stream: (it) => streamed(it.of("text", forbidden)),
  blocked: (it) => generated(it.of("blocked")),
  blocked_stream: (it) => streamed(it.of("blocked")),
  blocked_tools: (it) => generated(withWeather(it.of("blocked-tools"))),
  blocked_tools_stream: (it) => streamed(withWeather(it.of("blocked-tools"))),
  object_blocked: async (it) => (await generateObject({ ...it.of("blocked"), schema: Person })).object,
  object_stream_blocked: (it) => objectStream(it.of("blocked")),
  annotated: (it) => generated(it.of("text")),
  annotated_stream: (it) => streamed(it.of("text")),
  async_stream: (it) => streamed(it.of("text-async")),
};

for (const kind of Object.keys(providers)) {
  const named = Object.fromEntries(Object.entries(cases).map(([name, run]) => [`${kind} ${name}`, run]));
  await main(named, connect(kind));
}

// The Vercel AI SDK on the embedded model, by its provider for compatible endpoints: text, streams, objects, tools.

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { embedMany, generateObject, generateText, isStepCount, Output, streamObject, streamText, tool } from "ai";
import { z } from "zod";

import { main, told } from "./verdict.mjs";

const MODEL = "smollm2-135m-instruct";
const sum = "What is 2+2?";
const ada = "Ada is 36 years old. Give her name and age.";
const question = "What is the weather in Paris?";
const Person = z.object({ name: z.string(), age: z.int() });
const multiplication = { toolChoice: { type: "tool", toolName: "multiply" } };

function connect(baseURL) {
  const options = { name: "gateway", baseURL, apiKey: "any", includeUsage: true, supportsStructuredOutputs: true };
  const provider = createOpenAICompatible(options);
  const order = { model: provider.chatModel(MODEL), maxRetries: 0, temperature: 0, maxOutputTokens: 60 };
  return { ask: (prompt, more = {}) => ({ ...order, prompt, ...more }), embedder: provider.embeddingModel(MODEL) };
}

function read(result) {
  return {
    text: result.text,
    finish: result.finishReason,
    usage: tokens(result.usage),
    calls: result.toolCalls.map((call) => [call.toolName, call.input]),
  };
}

const tokens = (usage) => [usage.inputTokens, usage.outputTokens, usage.totalTokens];

async function streamed(options) {
  const result = streamText({ ...options, onError: () => {} });
  const seen = { text: "", calls: [], errors: [], steps: 0 };
  for await (const part of result.fullStream) {
    if (part.type === "text-delta") seen.text += part.text;
    if (part.type === "tool-call") seen.calls.push([part.toolName, part.input]);
    if (part.type === "error") seen.errors.push(told(part.error));
    if (part.type === "finish-step") seen.steps += 1;
  }
  return { ...seen, finish: await result.finishReason, usage: tokens(await result.totalUsage) };
}

function tools(heard) {
  const weather = tool({
    description: "The weather in a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => (heard.push(city), `22 °C in ${city}`),
  });
  const multiply = tool({
    description: "Multiply two numbers.",
    inputSchema: z.object({ first: z.int(), second: z.int() }),
    execute: ({ first, second }) => (heard.push([first, second]), first * second),
  });
  return { get_weather: weather, multiply };
}

async function loop(it) {
  const heard = [];
  const result = await generateText(it.ask(question, { tools: tools(heard), stopWhen: isStepCount(5) }));
  return { ...read(result), heard, steps: result.steps.length };
}

async function streamLoop(it) {
  const heard = [];
  return { ...(await streamed(it.ask(question, { tools: tools(heard), stopWhen: isStepCount(5) }))), heard };
}

async function objectStream(it) {
  const { partialObjectStream, object } = streamObject(it.ask(ada, { schema: Person }));
  let partials = 0;
  for await (const _ of partialObjectStream) partials += 1;
  return [await object, partials > 1];
}

const cases = {
  text: async (it) => read(await generateText(it.ask(sum))),
  stream: async (it) => streamed(it.ask(sum)),
  object: async (it) => (await generateObject(it.ask(ada, { schema: Person }))).object,
  object_stream: objectStream,
  output: async (it) => (await generateText(it.ask(ada, { output: Output.object({ schema: Person }) }))).output,
  tools: async (it) => read(await generateText(it.ask(question, { tools: tools([]) }))),
  required_tools: async (it) =>
    read(await generateText(it.ask("Multiply 6 by 7.", { tools: tools([]), toolChoice: "required" }))),
  named_tool: async (it) =>
    read(await generateText(it.ask(question, { tools: tools([]), ...multiplication }))),
  no_tool_needed: async (it) => read(await generateText(it.ask("Hello! How are you?", { tools: tools([]) }))),
  stream_required_tools: async (it) => streamed(it.ask(question, { tools: tools([]), toolChoice: "required" })),
  tool_loop: loop,
  stream_tool_loop: streamLoop,
  embeddings: async (it) => {
    const { embeddings, usage } = await embedMany({ model: it.embedder, values: ["a cat", "a kitten"] });
    return [embeddings.map((vector) => vector.length), usage.tokens];
  },
};

await main(cases, connect);

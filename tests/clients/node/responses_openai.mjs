// The openai package for Node on the Responses API; and the AI SDK's own default, which speaks it.

import { createOpenAI } from "@ai-sdk/openai";
import { generateObject, generateText, stepCountIs, streamText, tool } from "ai";
import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";

import { main } from "./verdict.mjs";

const Person = z.object({ name: z.string(), age: z.number() });
const weather = {
  type: "function",
  name: "get_weather",
  parameters: { type: "object", properties: { city: { type: "string" } } },
  strict: false,
};

function connect(base) {
  const { responses } = new OpenAI({ baseURL: base, apiKey: "any", maxRetries: 0, timeout: 20_000 });
  return { responses, ai: createOpenAI({ baseURL: base, apiKey: "any" }) };
}

const read = (response) => ({
  text: response.output_text,
  status: response.status,
  usage: [response.usage.input_tokens, response.usage.output_tokens, response.usage.total_tokens],
});

const stateless = { openai: { store: false } };

const cases = {
  text: async ({ responses }) => read(await responses.create({ model: "text", input: "Hi" })),
  async stream({ responses }) {
    let text = "";
    let last;
    for await (const event of await responses.create({ model: "text", input: "Hi", stream: true })) {
      if (event.type === "response.output_text.delta") text += event.delta;
      last = event;
    }
    return [text, last.type];
  },
  async helper({ responses }) {
    const stream = responses.stream({ model: "text", input: "Hi" });
    const response = await stream.finalResponse();
    return response.output_text;
  },
  async parse({ responses }) {
    const text = { format: zodTextFormat(Person, "person") };
    return (await responses.parse({ model: "person", input: "Hi", text })).output_parsed;
  },
  async tools({ responses }) {
    const { output } = await responses.create({ model: "tools", input: "Hi", tools: [weather] });
    const [call] = output;
    const answered = { type: "function_call_output", call_id: call.call_id, output: "mild" };
    const input = [{ role: "user", content: "Hi" }, ...output, answered];
    return [call.arguments, (await responses.create({ model: "tools", input, tools: [weather] })).output_text];
  },
  invalid: ({ responses }) => responses.create({ model: "text", input: "Hi", temperature: 3 }),
  async late_error({ responses }) {
    for await (const event of await responses.create({ model: "late-error", input: "Hi", stream: true })) void event;
  },
  async ai_text({ ai }) {
    const { text, usage } = await generateText({ model: ai("text"), prompt: "Hi", maxRetries: 0 });
    return [text, usage.inputTokens, usage.outputTokens];
  },
  async ai_stream({ ai }) {
    const { textStream } = streamText({ model: ai("text"), prompt: "Hi", maxRetries: 0 });
    let text = "";
    for await (const piece of textStream) text += piece;
    return text;
  },
  async ai_object({ ai }) {
    return (await generateObject({ model: ai("person"), schema: Person, prompt: "Hi", maxRetries: 0 })).object;
  },
  async ai_tools({ ai }) {
    const asked = [];
    const get_weather = tool({
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ city }) => (asked.push(city), "mild"),
    });
    const { text } = await generateText({
      model: ai("tools"),
      prompt: "Hi",
      tools: { get_weather },
      stopWhen: stepCountIs(3),
      maxRetries: 0,
      providerOptions: stateless,
    });
    return [asked, text];
  },
};

await main(cases, connect);

// The Vercel AI SDK against upstreams of other vendors: the model's name begins with the vendor's.

import { createOpenAI } from "@ai-sdk/openai";
import { generateObject, generateText, isStepCount, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

import { main } from "./verdict.mjs";

const Person = z.object({ name: z.string(), age: z.number().int() });
const threeSteps = (stepCountIs ?? isStepCount)(3);

function connect(base, vendor) {
  const model = createOpenAI({ baseURL: base, apiKey: "any" }).chat(`${vendor}/scripted`);
  return { model, prompt: "Hi", maxRetries: 0 };
}

function weather(cities) {
  const execute = ({ city }) => (cities.push(city), "sunny");
  return { get_weather: tool({ description: "weather", inputSchema: z.object({ city: z.string() }), execute }) };
}

function loop(client, cities) {
  return { ...client, prompt: "Use get weather", tools: weather(cities), stopWhen: threeSteps };
}

const cases = {
  text: async (client) => (await generateText(client)).text,
  stream: async (client) => await streamText(client).text,
  tools: async (client) => {
    const cities = [];
    return [(await generateText(loop(client, cities))).text, cities];
  },
  stream_tools: async (client) => {
    const cities = [];
    return [await streamText(loop(client, cities)).text, cities];
  },
  structured: async (client) => (await generateObject({ ...client, schema: Person })).object,
};

await main(cases, connect);

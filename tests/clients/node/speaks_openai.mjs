// The openai package for Node against upstreams of other vendors: the model's name begins with the vendor's.

import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";

import { main } from "./verdict.mjs";

const messages = [{ role: "user", content: "Hi" }];
const asking = [{ role: "user", content: "Use get weather" }];
const Person = z.object({ name: z.string(), age: z.number().int() });
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

function connect(base, vendor) {
  const client = new OpenAI({ baseURL: base, apiKey: "any", maxRetries: 0, timeout: 20_000 });
  return { chat: client.chat.completions, model: `${vendor}/scripted` };
}

function weather(cities) {
  const run = ({ city }) => (cities.push(city), "sunny");
  return [{ type: "function", function: { name: "get_weather", parameters, parse: JSON.parse, function: run } }];
}

async function loop({ chat, model }, stream) {
  const cities = [];
  const runner = chat.runTools({ model, messages: asking, tools: weather(cities), stream });
  return [await runner.finalContent(), cities];
}

const cases = {
  text: async ({ chat, model }) => (await chat.create({ model, messages })).choices[0].message.content,
  stream: async ({ chat, model }) => await chat.stream({ model, messages }).finalContent(),
  tools: async (client) => await loop(client, false),
  stream_tools: async (client) => await loop(client, true),
  structured: async ({ chat, model }) => {
    const format = zodResponseFormat(Person, "person");
    return (await chat.parse({ model, messages, response_format: format })).choices[0].message.parsed;
  },
};

await main(cases, connect);

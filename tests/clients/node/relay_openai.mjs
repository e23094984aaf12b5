// The openai package on the relayed paths: pictures, sound, files.

import { createHash } from "node:crypto";
import OpenAI, { toFile } from "openai";
import { main } from "./verdict.mjs";

const FILE = Buffer.alloc(251 * 1200, Buffer.from(Array.from({ length: 251 }, (_, index) => index)));
const sha = (data) => createHash("sha256").update(data).digest("hex");
const connect = (baseURL) => new OpenAI({ baseURL, apiKey: "any", maxRetries: 0, timeout: 20_000 });
const file = (name) => toFile(FILE, name);

const cases = {
  generate: async (client) => (await client.images.generate({ model: "picture", prompt: "a cat" })).data[0].revised_prompt,
  generate_stream: async (client) => {
    const seen = [];
    for await (const event of await client.images.generate({ model: "picture", prompt: "a cat", stream: true })) {
      seen.push(event.b64_json);
    }
    return seen;
  },
  edit: async (client) => {
    const image = await file("i.png"); // before the model, as a Node program may write it
    const [picture] = (await client.images.edit({ image, model: "picture", prompt: "a hat" })).data;
    return [picture.revised_prompt, picture.b64_json === sha(FILE)];
  },
  speech: async (client) => {
    const response = await client.audio.speech.create({ model: "voice", voice: "alloy", input: "Hi" });
    return sha(Buffer.from(await response.arrayBuffer()));
  },
  speech_error: async (client) => client.audio.speech.create({ model: "voice", voice: "nobody", input: "Hi" }),
  transcribe: async (client) => {
    const heard = await client.audio.transcriptions.create({ file: await file("a.wav"), model: "ear" });
    return heard.text === `ear: ${sha(FILE)}`;
  },
  translate: async (client) => {
    const heard = await client.audio.translations.create({ file: await file("a.wav"), model: "ear" });
    return heard.text === `ear: ${sha(FILE)}`;
  },
  files: async (client) => {
    const made = await client.files.create({ file: await file("a.jsonl"), purpose: "batch" });
    const kept = await client.files.retrieve(made.id);
    const content = await client.files.content(made.id);
    const listed = [];
    for await (const one of client.files.list({ purpose: "batch" })) listed.push(one.id);
    const { deleted } = await client.files.delete(made.id);
    return [made.filename === sha(FILE), kept.id, sha(Buffer.from(await content.arrayBuffer())), listed, deleted];
  },
};

await main(cases, connect);

// Portkey 1.15.2 on Node 20 answers 500 to every stream: it appends to the headers of fetch's own Response, which are
// immutable. This preload hands it a Response whose headers can be changed: a cost per request, none per chunk.
const { fetch: fetchAsIs, Response, Headers } = globalThis;

globalThis.fetch = async (...request) => {
  const { body, status, statusText, headers } = await fetchAsIs(...request);
  return new Response(body, { status, statusText, headers: new Headers(headers) });
};

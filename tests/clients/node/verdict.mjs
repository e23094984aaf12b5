// Runs a library's cases in every dialect and prints what each saw, one JSON line per case and dialect.

export async function main(cases, connect) {
  const bases = JSON.parse(process.argv[2]);
  for (const [dialect, base] of Object.entries(bases)) {
    const client = connect(base, dialect);
    for (const [name, run] of Object.entries(cases)) {
      let saw;
      try {
        saw = await run(client);
      } catch (error) {
        saw = told(error);
      }
      console.log(JSON.stringify({ case: name, dialect, saw: saw ?? null }));
    }
  }
}

// What a program can learn from an exception.
export function told(error) {
  const seen = { raised: error?.name === "Error" ? error.constructor.name : (error?.name ?? typeof error) };
  seen.message = String(error?.message ?? error);
  for (const key of ["status", "statusCode", "code", "param"]) {
    if (error?.[key] != null) seen[key] = error[key];
  }
  return seen;
}

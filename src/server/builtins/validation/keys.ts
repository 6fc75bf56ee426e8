/** Validation of the keys of a ConfigMap or Secret. */
export function configKeyProblems(key: string): string[] {
  const problems: string[] = []
  if (Buffer.byteLength(key) > 253) problems.push('must be no more than 253 characters')
  if (!/^[-._a-zA-Z0-9]+$/.test(key)) {
    const rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
    problems.push(
      `${rule} (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`,
    )
  }
  if (key === '.') problems.push("must not be '.'")
  else if (key === '..') problems.push("must not be '..'")
  else if (key.startsWith('..')) problems.push("must not start with '..'")
  return problems
}

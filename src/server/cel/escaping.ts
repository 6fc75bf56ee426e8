/** Escapes field names for rules: names that are not CEL identifiers or are reserved words. */

const reserved: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
)
const spelled: Readonly<Record<string, string>> = {
  __: '__underscores__',
  '.': '__dot__',
  '-': '__dash__',
  '/': '__slash__',
}
const meant: ReadonlyMap<string, string> = new Map(Object.entries(spelled).map(([name, text]) => [text, name]))

/** Undefined if rules cannot access a field of that name. */
export function escapeField(name: string): string | undefined {
  if (reserved.has(name)) return `__${name}__`
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(name)) return undefined
  return name.replace(/__|[-./]/g, (part) => spelled[part]!)
}

export function unescapeField(text: string): string | undefined {
  let isValid = true
  const name = text.replace(/__[^_]+__/g, (part) => {
    const word = part.slice(2, -2)
    const found = meant.get(part) ?? (reserved.has(word) && part === text ? word : undefined)
    if (found === undefined) isValid = false
    return found ?? ''
  })
  return isValid ? name : undefined
}

/** Compares the output on a tutorial page with the real output, except for times, addresses and generated names. */

const variable: ReadonlyArray<readonly [RegExp, string]> = [
  [/^\d\d:\d\d:\d\d(?= [A-Z]+ )/, 'time'],
  [/\b\d+ ms\b/g, 'N ms'],
  [/\([\d.]+ms\)/g, '(N ms)'],
  [/on (the embedded server at \S+|https:\S+ \(context .*\)), (all namespaces|namespace \S+)$/, 'on a cluster'],
  [/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, 'uid'],
  [/ +\d+(s|m\d*s?)$/, '  age'],
  [/^(Node )?\d+\.\d+\.\d+$/, '$1version'],
]

function normalise(line: string): string {
  return variable.reduce((text, [pattern, word]) => text.replaceAll(new RegExp(pattern, 'g'), word), line.trimEnd())
}

/** A line with only `…` matches any number of lines. */
export function isAsPrinted(printed: readonly string[], said: readonly string[]): boolean {
  const literally = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const pattern = printed.map((line) => (line === '…' ? '(?:.*\\n)*' : `${literally(normalise(line))}\\n`)).join('')
  return new RegExp(`^${pattern}$`).test(said.map((line) => `${normalise(line)}\n`).join(''))
}

export function linesOf(text: string): string[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

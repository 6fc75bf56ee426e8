/** Collects the errors of an expression and formats them with positions and source snippets like cel-go. */

interface Issue {
  readonly at: number
  readonly message: string
}

/** Longer lines are shown without a snippet. */
const maxSnippetLength = 16_384

export class Issues {
  readonly #source: string
  readonly #issues: Issue[] = []

  constructor(source: string) {
    this.#source = source
  }

  get isEmpty(): boolean {
    return this.#issues.length === 0
  }

  /** `at` is -1 for errors of the whole expression. */
  report(at: number, message: string): void {
    this.#issues.push({ at, message })
  }

  format(): string {
    const sorted = [...this.#issues].sort((left, right) => left.at - right.at)
    return sorted.map((issue) => this.#formatIssue(issue)).join('\n')
  }

  #formatIssue({ at, message }: Issue): string {
    if (at < 0) return `ERROR: <input>:-1:0: ${message}`
    const before = this.#source.slice(0, at).split('\n')
    const line = before.length
    const snippet = this.#source.split('\n')[line - 1]!.replaceAll('\t', ' ')
    const column = [...before.at(-1)!].length
    const head = `ERROR: <input>:${line}:${column + 1}: ${message}`
    if (Buffer.byteLength(snippet) > maxSnippetLength) return head
    const characters = [...snippet]
    const isWide = (character: string | undefined): boolean => character !== undefined && character > '\x7f'
    const dots = characters.slice(0, column).map((one) => (isWide(one) ? '\uff0e' : '.'))
    return `${head}\n | ${snippet}\n | ${dots.join('')}${isWide(characters[column]) ? '\uff3e' : '^'}`
  }
}

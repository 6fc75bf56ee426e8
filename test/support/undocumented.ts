/**
 * Finds the names of the public API that have no documentation comment, with the compiler. Used by public-api.test.ts: users read these
 * comments by hovering, and typedoc builds the API pages from them.
 */
import { resolve } from 'node:path'
import { type Node, SyntaxKind } from 'typescript/unstable/ast'
import { API, type Checker, type Symbol as NamedSymbol, type Project, SymbolFlags } from 'typescript/unstable/sync'

/** Types that users fill in or destructure, so that their members are read by hovering even if the types are not exported by name. */
const publicSuffix = /(Args|Options|Settings)$/

export interface DocumentationReport {
  /** The number of names that were checked. */
  readonly checked: number
  /** The names without a comment: `Observer.handlerStarted (src/observer.ts)`. */
  readonly undocumented: readonly string[]
}

/** Checks the exports of the files, and the members of exported interfaces and classes, inherited ones included. */
export function findUndocumented(entries: readonly string[]): DocumentationReport {
  const api = new API({ cwd: process.cwd() })
  try {
    const config = resolve('tsconfig.build.json')
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config)!
    const check = new DocumentationCheck(project)
    for (const entry of entries) check.addExports(resolve(entry))
    return { checked: check.checked, undocumented: [...check.undocumented].sort() }
  } finally {
    api.close()
  }
}

class DocumentationCheck {
  checked = 0
  readonly undocumented = new Set<string>()
  readonly #project: Project
  readonly #checker: Checker
  readonly #seen = new Set<NamedSymbol>()

  constructor(project: Project) {
    this.#project = project
    this.#checker = project.checker
  }

  addExports(file: string): void {
    const module = this.#checker.getSymbolAtLocation(this.#project.program.getSourceFile(file)!)!
    for (const exported of this.#checker.getExportsOfModule(module))
      this.#add(this.#target(exported), { isExported: true })
  }

  #target(symbol: NamedSymbol): NamedSymbol {
    return (symbol.flags & SymbolFlags.Alias) === 0 ? symbol : this.#checker.getAliasedSymbol(symbol)
  }

  /** Types that are not exported need no comment, since their names are not visible; their members are. */
  #add(symbol: NamedSymbol, { isExported }: { readonly isExported: boolean }): void {
    if (!isOurs(symbol) || this.#isInternal(symbol)) return
    if (isExported) this.#check(symbol, symbol.name)
    if (this.#seen.has(symbol)) return
    this.#seen.add(symbol)
    if ((symbol.flags & (SymbolFlags.Class | SymbolFlags.Interface)) !== 0) this.#addMembers(symbol)
    for (const node of symbol.declarations.flatMap((declaration) => declaration.resolve() ?? []))
      this.#addMentioned(node)
  }

  #addMembers(symbol: NamedSymbol): void {
    for (const member of this.#checker.getPropertiesOfType(this.#checker.getDeclaredTypeOfSymbol(symbol))) {
      if (isOurs(member) && !isPrivate(member) && !this.#isInternal(member)) {
        this.#check(member, `${symbol.name}.${member.name}`)
      }
    }
  }

  /** Adds the types with a public suffix that a declaration mentions, except in function bodies. */
  #addMentioned(node: Node): void {
    if (node.kind === SyntaxKind.Block) return
    if (node.kind === SyntaxKind.Identifier && publicSuffix.test((node as Node & { readonly text: string }).text)) {
      const mentioned = this.#checker.getSymbolAtLocation(node)
      if (mentioned !== undefined) this.#add(this.#target(mentioned), { isExported: false })
    }
    node.forEachChild((child) => this.#addMentioned(child))
  }

  #check(symbol: NamedSymbol, name: string): void {
    this.checked += 1
    if (this.#checker.getDocumentationCommentOfSymbol(symbol).trim() !== '' || this.#isDeprecated(symbol)) return
    this.undocumented.add(`${name} (${fileOf(symbol)})`)
  }

  #isInternal(symbol: NamedSymbol): boolean {
    return this.#checker.getJsDocTagsOfSymbol(symbol).some(({ name }) => name === 'internal')
  }

  #isDeprecated(symbol: NamedSymbol): boolean {
    return this.#checker.getJsDocTagsOfSymbol(symbol).some(({ name }) => name === 'deprecated')
  }
}

function isOurs(symbol: NamedSymbol): boolean {
  return (
    symbol.declarations.length > 0 && symbol.declarations.every(({ path }) => path.startsWith(`${resolve('src')}/`))
  )
}

/** The compiler stores `#name` as `__#1@#name`, and the name of `[Symbol.iterator]` begins with `__@`: the latter needs no comment. */
function isPrivate({ name }: NamedSymbol): boolean {
  return name.startsWith('#') || name.startsWith('__')
}

function fileOf(symbol: NamedSymbol): string {
  return symbol.declarations[0]!.path.slice(`${resolve('.')}/`.length)
}

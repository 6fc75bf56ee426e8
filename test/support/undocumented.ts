/**
 * Finds the names of the public API that have no documentation comment, with the compiler. Used by public-api.test.ts: users read these
 * comments by hovering, and typedoc builds the API pages from them.
 */
import { resolve } from 'node:path'
import {
  type ExpressionWithTypeArguments,
  type Node,
  SyntaxKind,
  type TypeReferenceNode,
} from 'typescript/unstable/ast'
import { API, type Checker, type Symbol as NamedSymbol, type Project, SymbolFlags } from 'typescript/unstable/sync'

/** Types that users fill in or destructure: their members are read by hovering even if the types are not exported by name. */
const hasPublicMembers = /(Args|Options|Settings)$/

const classMembers: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.PropertyDeclaration,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.GetAccessor,
  SyntaxKind.SetAccessor,
])

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

  /** A type that is not exported needs no comment itself, since users do not see its name. */
  #add(symbol: NamedSymbol, { isExported }: { readonly isExported: boolean }): void {
    if (!isOurs(symbol) || this.#isInternal(symbol)) return
    if (isExported) this.#check(symbol, symbol.name)
    if (this.#seen.has(symbol)) return
    this.#seen.add(symbol)
    if (isExported || hasPublicMembers.test(symbol.name)) this.#addMembers(symbol)
    for (const node of symbol.declarations.flatMap((declaration) => declaration.resolve() ?? []))
      this.#addMentioned(node)
  }

  #addMembers(symbol: NamedSymbol): void {
    if ((symbol.flags & (SymbolFlags.Class | SymbolFlags.Interface)) === 0) return
    for (const member of this.#checker.getPropertiesOfType(this.#checker.getDeclaredTypeOfSymbol(symbol))) {
      if (isOurs(member) && !isPrivate(member) && !this.#isInternal(member)) {
        this.#check(member, `${symbol.name}.${member.name}`)
      }
    }
  }

  /** Adds the types that a declaration mentions, except in function bodies, private members and internal members. */
  #addMentioned(declaration: Node): void {
    const names: Node[] = []
    const visit = (node: Node) => {
      if (node.kind === SyntaxKind.Block || this.#isHidden(node)) return
      if (node.kind === SyntaxKind.TypeReference) names.push((node as TypeReferenceNode).typeName)
      if (node.kind === SyntaxKind.ExpressionWithTypeArguments)
        names.push((node as ExpressionWithTypeArguments).expression)
      node.forEachChild(visit)
    }
    visit(declaration)
    for (const mentioned of names.length === 0 ? [] : this.#checker.getSymbolAtLocation(names)) {
      if (mentioned !== undefined) this.#add(this.#target(mentioned), { isExported: false })
    }
  }

  #isHidden(node: Node): boolean {
    if (!classMembers.has(node.kind)) return false
    const { name } = node as Node & { readonly name: Node }
    if (name.kind === SyntaxKind.PrivateIdentifier) return true
    const member = this.#checker.getSymbolAtLocation(name)
    return member !== undefined && this.#isInternal(member)
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

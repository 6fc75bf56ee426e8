/**
 * What an editor shows for a file of a project: hovers, completions and errors, by the language service of TypeScript 5.9 and by the language
 * server of TypeScript 7. Places in the text are marked with `«name»`.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { inject } from 'vitest'
import { Project } from './packed-project.ts'

export interface Hover {
  readonly type: string
  readonly documentation: string
}

export interface Editor extends AsyncDisposable {
  /** Opens the text as `operator.ts` of the project, instead of the text before. */
  open(marked: string): Promise<void>
  hover(mark: string): Promise<Hover>
  /** The names that are offered at a mark. */
  completions(mark: string): Promise<readonly string[]>
  /** The messages of all errors. */
  errors(): Promise<readonly string[]>
}

export const editors: Readonly<Record<string, () => Promise<Editor>>> = {
  'TypeScript 5.9': async () => new ServiceEditor(),
  'TypeScript 7': async () => ServerEditor.start(),
}

const settings = {
  compilerOptions: {
    strict: true,
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2023', 'esnext.disposable'],
    types: ['node'],
    noEmit: true,
    skipLibCheck: true,
  },
  files: ['operator.ts'],
}

function createProject(): Project {
  const project = Project.withKopf()
  project.link('@types/node', 'undici-types', 'zod')
  project.write({ 'tsconfig.json': JSON.stringify(settings), 'operator.ts': '' })
  return project
}

/** A text without its marks, and their offsets. */
class MarkedText {
  readonly text: string
  readonly #offsets = new Map<string, number>()

  constructor(marked: string) {
    let text = ''
    for (const part of marked.split(/(«[^»]+»)/)) {
      if (part.startsWith('«')) this.#offsets.set(part.slice(1, -1), text.length)
      else text += part
    }
    this.text = text
  }

  offset(mark: string): number {
    const offset = this.#offsets.get(mark)
    if (offset === undefined) throw new Error(`There is no mark ${mark}`)
    return offset
  }

  position(mark: string): { readonly line: number; readonly character: number } {
    const lines = this.text.slice(0, this.offset(mark)).split('\n')
    return { line: lines.length - 1, character: lines.at(-1)!.length }
  }
}

/** The parts of the API of TypeScript 5.9 that the tests use. */
interface CompilerApi {
  readonly sys: { readFile(path: string): string | undefined }
  readonly ScriptSnapshot: { fromString(text: string): object }
  parseJsonConfigFileContent(json: object, host: object, folder: string): { readonly options: object }
  createLanguageService(host: object): LanguageService
  getDefaultLibFilePath(options: object): string
  displayPartsToString(parts: readonly object[] | undefined): string
  flattenDiagnosticMessageText(text: unknown, separator: string): string
}

interface LanguageService {
  getQuickInfoAtPosition(
    path: string,
    offset: number,
  ): { readonly displayParts?: readonly object[]; readonly documentation?: readonly object[] } | undefined
  getCompletionsAtPosition(
    path: string,
    offset: number,
    options: object,
  ): { readonly entries: ReadonlyArray<{ readonly name: string }> } | undefined
  getSyntacticDiagnostics(path: string): ReadonlyArray<{ readonly messageText: unknown }>
  getSemanticDiagnostics(path: string): ReadonlyArray<{ readonly messageText: unknown }>
  dispose(): void
}

class ServiceEditor implements Editor {
  readonly #ts: CompilerApi
  readonly #project = createProject()
  readonly #path = join(this.#project.path, 'operator.ts')
  readonly #service: LanguageService
  #version = 0
  #opened = new MarkedText('')

  constructor() {
    const ts: CompilerApi = createRequire(import.meta.url)(inject('typescript5'))
    this.#ts = ts
    const { options } = ts.parseJsonConfigFileContent(settings, ts.sys, this.#project.path)
    const snapshotOf = (path: string) => (path === this.#path ? this.#opened.text : ts.sys.readFile(path))
    this.#service = ts.createLanguageService({
      ...ts.sys,
      getScriptFileNames: () => [this.#path],
      getScriptVersion: (path: string) => (path === this.#path ? String(this.#version) : '0'),
      getScriptSnapshot: (path: string) => {
        const text = snapshotOf(path)
        return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
      },
      getCurrentDirectory: () => this.#project.path,
      getCompilationSettings: () => options,
      useCaseSensitiveFileNames: () => true,
      getDefaultLibFileName: (given: object) => ts.getDefaultLibFilePath(given),
    })
  }

  async open(marked: string): Promise<void> {
    this.#opened = new MarkedText(marked)
    this.#version += 1
  }

  async hover(mark: string): Promise<Hover> {
    const info = this.#service.getQuickInfoAtPosition(this.#path, this.#opened.offset(mark))
    const toText = (parts: readonly object[] | undefined) => this.#ts.displayPartsToString(parts)
    return { type: toText(info?.displayParts), documentation: toText(info?.documentation) }
  }

  async completions(mark: string): Promise<readonly string[]> {
    const found = this.#service.getCompletionsAtPosition(this.#path, this.#opened.offset(mark), {})
    return (found?.entries ?? []).map(({ name }) => name)
  }

  async errors(): Promise<readonly string[]> {
    const all = [
      ...this.#service.getSyntacticDiagnostics(this.#path),
      ...this.#service.getSemanticDiagnostics(this.#path),
    ]
    return all.map(({ messageText }) => this.#ts.flattenDiagnosticMessageText(messageText, '\n'))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#service.dispose()
    this.#project[Symbol.dispose]()
  }
}

/** A client of the Language Server Protocol, with the requests that the tests need. */
class ServerEditor implements Editor {
  readonly #project = createProject()
  readonly #uri = pathToFileURL(join(this.#project.path, 'operator.ts')).href
  readonly #server: ChildProcess
  readonly #pending = new Map<number, (result: unknown) => void>()
  #received = Buffer.alloc(0)
  #requests = 0
  #version = 0
  #opened = new MarkedText('')

  private constructor() {
    const program = resolve('node_modules/typescript/lib/tsc.js')
    this.#server = spawn(process.execPath, [program, '--lsp', '--stdio'], {
      cwd: this.#project.path,
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    this.#server.stdout!.on('data', (chunk: Buffer) => this.#receive(chunk))
  }

  static async start(): Promise<ServerEditor> {
    const editor = new ServerEditor()
    const textDocument = {
      hover: { contentFormat: ['markdown'] },
      completion: { completionItem: { snippetSupport: false } },
      diagnostic: {},
    }
    await editor.#request('initialize', {
      processId: process.pid,
      rootUri: pathToFileURL(editor.#project.path).href,
      capabilities: { textDocument },
    })
    editor.#send({ method: 'initialized', params: {} })
    return editor
  }

  async open(marked: string): Promise<void> {
    this.#opened = new MarkedText(marked)
    this.#version += 1
    const { text } = this.#opened
    const textDocument = { uri: this.#uri, version: this.#version }
    if (this.#version === 1) {
      const opened = { ...textDocument, languageId: 'typescript', text }
      this.#send({ method: 'textDocument/didOpen', params: { textDocument: opened } })
    } else {
      this.#send({ method: 'textDocument/didChange', params: { textDocument, contentChanges: [{ text }] } })
    }
  }

  async hover(mark: string): Promise<Hover> {
    const { contents } = (await this.#ask('hover', mark)) as { contents: { value: string } }
    const [, type = '', documentation = ''] = /^```\w*\n(.*?)\n```(.*)$/s.exec(contents.value) ?? []
    return { type, documentation }
  }

  async completions(mark: string): Promise<readonly string[]> {
    const found = (await this.#ask('completion', mark)) as { items: ReadonlyArray<{ label: string }> } | null
    return (found?.items ?? []).map(({ label }) => label.replace(/\?$/, ''))
  }

  async errors(): Promise<readonly string[]> {
    const params = { textDocument: { uri: this.#uri } }
    const { items } = (await this.#request('textDocument/diagnostic', params)) as {
      items: ReadonlyArray<{ message: string; severity: number }>
    }
    return items.filter(({ severity }) => severity === 1).map(({ message }) => message)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#request('shutdown', undefined)
    this.#send({ method: 'exit' })
    this.#project[Symbol.dispose]()
  }

  #ask(what: 'hover' | 'completion', mark: string): Promise<unknown> {
    const params = { textDocument: { uri: this.#uri }, position: this.#opened.position(mark) }
    return this.#request(`textDocument/${what}`, params)
  }

  #request(method: string, params: unknown): Promise<unknown> {
    const id = ++this.#requests
    const answered = new Promise((done) => this.#pending.set(id, done))
    this.#send({ id, method, params })
    return answered
  }

  #send(message: object): void {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }))
    this.#server.stdin!.write(`Content-Length: ${body.length}\r\n\r\n`)
    this.#server.stdin!.write(body)
  }

  #receive(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk])
    for (;;) {
      const header = /^Content-Length: (\d+).*?\r\n\r\n/is.exec(this.#received.toString('latin1', 0, 200))
      if (header === null) return
      const end = header[0].length + Number(header[1])
      if (this.#received.length < end) return
      const message = JSON.parse(this.#received.toString('utf8', header[0].length, end))
      this.#received = this.#received.subarray(end)
      this.#handle(message)
    }
  }

  /** Requests of the server, such as for its configuration, are answered with null. */
  #handle({ id, method, result, error }: Readonly<Record<string, unknown>>): void {
    if (method !== undefined) {
      if (id !== undefined) this.#send({ id, result: null })
      return
    }
    if (error !== undefined) throw new Error(`The language server failed: ${JSON.stringify(error)}`)
    this.#pending.get(id as number)?.(result)
    this.#pending.delete(id as number)
  }
}

/**
 * `npm run check:language`: finds words and sentence patterns in the documentation that a reader has to read twice, and says what to write
 * instead. It reads the pages of docs/ (the help texts of the commands are in docs/reference/cli.md), the Markdown files of the repository, comments
 * in code blocks, and comments in the files that users copy: examples, cookbook and templates. A line is allowed by `<!-- language: allow -->` on that line or on the line before it (`// language: allow` in code).
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Rule {
  readonly pattern: RegExp
  readonly advice: string
}

const rules: readonly Rule[] = [
  {
    pattern: /\b(?:whoever|nobody|no one|somebody|whom|whomever)\b/i,
    advice: 'name the person or the program: "a user", "another operator"',
  },
  { pattern: /\banew\b/i, advice: 'write "again"' },
  { pattern: /\b(?:is|are|was|were|be|been|gets?) told\b/i, advice: 'say what is logged, returned or called' },
  { pattern: /\b(?:tells?|told) of\b/i, advice: 'say what is logged, returned or called' },
  { pattern: /\bsays? so\b/i, advice: 'quote the message, or name the log line, error or condition' },
  {
    pattern: /\bof (?:its|their|his|our|one's|your) own\b(?! [a-z])/i,
    advice: 'write "its own …", "your own …" or "a separate …"',
  },
  { pattern: /\b(?:is|are|was|were) to (?:be|go|have|stay)\b/i, advice: 'use "should", "must" or the present tense' },
  { pattern: /\b(?:has|have|had) come to\b/i, advice: 'write "result", "progress" or "outcome"' },
  { pattern: /\b(?:take|takes|taken|took) (?:it |them )?off\b/i, advice: 'write "remove"' },
  { pattern: /\b(?:stands?|standing) (?:by|back)\b/i, advice: 'write "waits" or "is not the leader"' },
  { pattern: /\bfor good\b/i, advice: 'write "permanently"' },
  { pattern: /\ball the same\b/i, advice: 'write "anyway", or leave it out' },
  { pattern: /\bin vain\b/i, advice: 'say what has no effect' },
  { pattern: /\bwith patience\b/i, advice: 'name the delay or the backoff' },
  { pattern: /\bas (?:it|they) should be\b/i, advice: 'write "matches the desired state"' },
  { pattern: /\bthere should be\b/i, advice: 'write "the desired state" or "the desired children"' },
  { pattern: /\bcomes? and goes?\b|\bcome and go\b/i, advice: 'write "created and deleted"' },
  { pattern: /\b(?:knobs?|stanzas?|rehears\w*|spies|spying|spied|goodbye)\b/i, advice: 'use the word of the glossary' },
  { pattern: /\brights\b/i, advice: 'write "permissions"' },
  { pattern: /\b(?:thereof|whence|wherein|lest|ought|shall)\b/i, advice: 'use a plain word' },
  { pattern: /\bstrangers?\b/i, advice: 'write "untrusted users"' },
  { pattern: /\bmust not mind\b/i, advice: 'write "must be repeatable"' },
  { pattern: /\b(?:mends?|mended)\b/i, advice: 'write "fix"' },
  {
    pattern: /\bin every life\b|\blives? of (?:it|the operator)\b/i,
    advice: 'write "at every start" or "while the operator runs"',
  },
  { pattern: /\bone's\b/i, advice: 'write "your"' },
  { pattern: /\b(?:objects?|it|one|pods?|they) (?:goes|go)(?=[,.;:]| when\b| with\b)/i, advice: 'write "is deleted"' },
  { pattern: /\bthe way of\b/i, advice: 'write "like"' },
  { pattern: /\b(?:goes|go) under\b/i, advice: 'write "is deleted while …"' },
  { pattern: /\b(?:has|have|had) gone\b(?! back)/i, advice: 'write "is deleted" or "is closed"' },
  { pattern: /\basked to go\b/i, advice: 'write "is stopped"' },
  { pattern: /\b(?:take|takes|taken|took) up (?:again|where|its|their)\b/i, advice: 'write "resume" or "continue"' },
  { pattern: /\b(?:go|goes|went) on(?! (?:the|a|an) )\b/i, advice: 'write "continue"' },
  { pattern: /\bwithout a word\b/i, advice: 'say what is not logged or sent' },
  { pattern: /\b(?:one|none|some) of what\b/i, advice: 'name the things' },
  {
    pattern:
      /\b(?:resource|kind) definitions?\b|\bdefinitions? of (?:a|the|its|your|their|all|these) (?:custom )?(?:resource|kind)s?\b/i,
    advice: 'write "CRD"',
  },
  {
    pattern: /(?<!\bcertificate )(?<!\bunknown )\bauthorit(?:y|ies)\b/i,
    advice: 'write "CA", or "permission"',
  },
  {
    pattern:
      /\b(?:a|the) text (?:of (?:a|the|its) (?:label|annotation|field|value|key)|field)\b|\blist of texts\b|\bas a text\b/i,
    advice: 'write "string"',
  },
  { pattern: /\bpowers\b|\bpower over\b/i, advice: 'write "permission" or "access to"' },
  { pattern: /\b(?:porter|ledger|agenda|the hall|rooms)\b/i, advice: 'use the word of the glossary' },
  { pattern: /\bnone of (?:its|their|your) business\b/i, advice: 'say which objects are ignored' },
]

/** A sentence that begins with a free relative clause: "What they return is stored." A question is fine. */
const relative = /(?:^|[.!?:][*_)]* |^[-*] |\| )(What(?:ever)?|Whichever|Whose|Who) (?![^.|]*\?)[^.|]*[.|]/
const heading =
  /^#+ (?:(?:What(?! is new\b)|Who|Whose|Of|And|But|If|Those|That|Tell)\b|When (?:it|they|that) |\w+ that want\b).*(?<!\?)$/

interface Finding {
  readonly file: string
  readonly line: number
  readonly text: string
  readonly advice: string
}

/** Findings of one file; the last column of the glossary lists words to avoid, and is skipped. Code blocks and inline code of Markdown are skipped; of code files only comments are read. */
export function checkLanguage(file: string, text: string): Finding[] {
  const prose = file.endsWith('glossary.md') ? text.replaceAll(/[^|\n]*\|$/gm, '|') : text
  const lines = file.endsWith('.md') ? proseOf(prose) : commentsOf(text)
  return lines.flatMap((line, index) => {
    if (isAllowed(lines[index]!) || isAllowed(lines[index - 1] ?? '')) return []
    const found = rules.filter(({ pattern }) => pattern.test(line)).map(({ advice }) => advice)
    if (relative.test(line)) found.push('start the sentence with its subject')
    if (heading.test(line)) found.push('use a heading that a reader would search for')
    return found.map((advice) => ({ file, line: index + 1, text: line.trim(), advice }))
  })
}

function isAllowed(line: string): boolean {
  return line.includes('language: allow')
}

/** The lines of a Markdown file; of code in a language only the comments, and nothing of other blocks, which are output. */
function proseOf(text: string): string[] {
  let fence: string | undefined
  let hasComments = false
  return text.split('\n').map((line) => {
    const [, mark, language] = /^\s*(```+|~~~+)(\w*)/.exec(line) ?? []
    if (mark !== undefined && (fence === undefined || line.trim() === fence)) {
      fence = fence === undefined ? mark : undefined
      hasComments = /^(?:ts|js|yaml|dockerfile|shell)$/.test(language!)
      return ''
    }
    if (fence === undefined) return line.replaceAll(/`[^`]*`/g, '`…`')
    return hasComments ? commentOf(line) : ''
  })
}

function commentsOf(text: string): string[] {
  return text.split('\n').map(commentOf)
}

function commentOf(line: string): string {
  return /(?:^|\s)(?:\/\/|\/?\*\*?|#)\s(.*)$/.exec(line)?.[1] ?? ''
}

const roots = ['docs', 'examples', 'cookbook', 'templates', 'packages', 'bench', '.github']
const ignored =
  /(^|\/)(node_modules|dist|cache|api|testdata)\/|source-files\.md$|^docs\/\.vitepress\/|^bench\/.*\.ts$|package(-lock)?\.json$/

function listFiles(): string[] {
  const nested = roots.flatMap((root) => readFolder(root).map((path) => join(root, path).replaceAll('\\', '/')))
  return [...readFolder('.', false), ...nested].filter(
    (path) => /\.(md|ts|yaml|yml)$|Dockerfile$/.test(path) && !ignored.test(path),
  )
}

function readFolder(folder: string, recursive = true): string[] {
  try {
    return readdirSync(folder, { recursive, encoding: 'utf8' })
  } catch {
    return []
  }
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const only = process.argv.slice(2)
  const files = listFiles().filter((file) => only.length === 0 || only.some((prefix) => file.startsWith(prefix)))
  const findings = files.flatMap((file) => checkLanguage(file, readFileSync(file, 'utf8')))
  for (const { file, line, text, advice } of findings) console.log(`${file}:${line}: ${advice}\n    ${text}`)
  console.log(
    `${findings.length} sentences to rewrite in ${new Set(findings.map(({ file }) => file)).size} of ${files.length} files`,
  )
  if (findings.length > 0) process.exitCode = 1
}

/** `npm run docs:generate`: writes what the docs repeat of the code, between the markers of these files. */
import { readFileSync, writeFileSync } from 'node:fs'
import { addMissingCommands, describeCommands } from './cli.ts'
import { listContents, listDecisions } from './lists.ts'
import { fillMarked } from './markdown.ts'
import { describeSettings } from './settings.ts'

const root = new URL('../../', import.meta.url)

/** The files with generated parts, and how each is made anew of what it is. */
export const generated: Readonly<Record<string, (text: string) => string>> = {
  'docs/reference/cli.md': (text) => fillMarked(addMissingCommands(text), describeCommands()),
  'docs/reference/settings.md': (text) => fillMarked(text, describeSettings()),
  'docs/index.md': (text) => fillMarked(text, { contents: listContents() }),
  'docs/decisions/README.md': (text) => fillMarked(text, { decisions: listDecisions() }),
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  for (const [file, make] of Object.entries(generated)) {
    const text = readFileSync(new URL(file, root), 'utf8')
    const made = make(text)
    if (made === text) continue
    writeFileSync(new URL(file, root), made)
    console.log(`${file} is written anew`)
  }
}

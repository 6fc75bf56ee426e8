/** `npm run docs:generate`: rewrites the parts of the docs that are generated from the code, between `<!-- generated -->` markers. */
import { readFileSync, writeFileSync } from 'node:fs'
import { addMissingCommands, describeCommands } from './cli.ts'
import { diagrams } from './diagrams/pictures.ts'
import { drawDiagram } from './diagrams/svg.ts'
import { listContents, listDecisions } from './lists.ts'
import { printTemplateManifests, printTutorialManifests } from './manifests.ts'
import { fillMarked } from './markdown.ts'
import { describeMetrics } from './metrics.ts'
import { describeSettings } from './settings.ts'
import { describeSourceFiles } from './source-files.ts'

const root = new URL('../..', import.meta.url)

const manifests = { template: await printTemplateManifests(), tutorial: await printTutorialManifests() }

/** The files with generated parts, each with a function from its present text to the updated one. */
export const generated: Readonly<Record<string, (text: string) => string>> = {
  'docs/reference/cli.md': (text) => fillMarked(addMissingCommands(text), describeCommands()),
  'docs/reference/metrics.md': (text) => fillMarked(text, describeMetrics()),
  'docs/reference/settings.md': (text) => fillMarked(text, describeSettings()),
  'docs/reference/source-files.md': (text) => fillMarked(text, describeSourceFiles()),
  'docs/operate/deploying.md': (text) => fillMarked(text, { 'kopf manifests': manifests.template }),
  'docs/tutorial/cluster.md': (text) => fillMarked(text, { 'kopf manifests': manifests.tutorial }),
  'docs/index.md': (text) => fillMarked(text, { contents: listContents() }),
  'docs/decisions/README.md': (text) => fillMarked(text, { decisions: listDecisions() }),
  ...Object.fromEntries(diagrams.map((diagram) => [`docs/diagrams/${diagram.name}.svg`, () => drawDiagram(diagram)])),
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  for (const [file, make] of Object.entries(generated)) {
    const text = readFileSync(new URL(file, root), 'utf8')
    const made = make(text)
    if (made === text) continue
    writeFileSync(new URL(file, root), made)
    console.log(`${file}: updated`)
  }
}

/** A folder with an operator and its objects, for tests of `kopf dev`. */
import { readdirSync } from 'node:fs'
import { afterEach, beforeEach, expect } from 'vitest'
import { Folder, KopfCommand, stopCommands } from './run-support.ts'

let folder: Folder

/** Creates a folder for each test; stops its commands and removes it after the test. */
export function useDevFolder(): void {
  beforeEach(() => {
    folder = new Folder()
  })
  afterEach(async () => {
    await stopCommands()
    folder.remove()
  })
}

/** The folder of the current test. */
export function devFolder(): Folder {
  return folder
}

export const operatorOf = (
  body: string,
  options: string = '',
): string => `import { Operator, defineResource } from 'kopf'
import { word } from './word.ts'
const Widget = defineResource({ group: 'example.com', version: 'v1', kind: 'Widget'${options} })
const kopf = new Operator()
${body}
export default kopf
`
export const telling: string = ['create', 'resume', 'update']
  .map((kind) => `kopf.on.${kind}(Widget, ({ name, logger }) => logger.info(\`${kind}: \${name} \${word}\`))`)
  .join('\n')
export const wordOf = (word: string): string => `export const word: string = '${word}'\n`
export const widget = (size: number): string =>
  `{apiVersion: example.com/v1, kind: Widget, metadata: {name: first}, spec: {size: ${size}}}`

export function write(files: Readonly<Record<string, string>> = {}): void {
  folder.write({ 'operator.ts': operatorOf(telling), 'word.ts': wordOf('one'), 'objects.yaml': widget(1), ...files })
}

export function dev(...args: string[]): KopfCommand {
  return new KopfCommand(folder, ['dev', 'operator.ts', '--apply', 'objects.yaml', ...args])
}

export async function stop(one: KopfCommand): Promise<void> {
  one.send('SIGTERM')
  expect(await one.exit).toBe(0)
  expect(readdirSync(folder.temporary).filter((name) => name.startsWith('kopf-'))).toEqual([])
}

export function countOf({ stdout, stderr }: KopfCommand, pattern: RegExp): number {
  return (stdout + stderr).match(pattern)?.length ?? 0
}

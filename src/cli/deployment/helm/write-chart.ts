/** Writes the files of a chart into a folder. Replaces the files of an earlier chart, and refuses a folder with any other file. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { KopfError } from '../../../errors.ts'
import { makeFolder } from '../../../util/process/make-folder.ts'
import { explainFileProblem } from '../../read-manifests.ts'
import { shorten } from '../../scaffolding/scaffold.ts'
import { chartMark } from './chart.ts'

export async function writeChart(folder: string, files: ReadonlyMap<string, string>): Promise<void> {
  try {
    const present = await listFiles(folder)
    await checkForeign(folder, present)
    for (const [file, text] of files) {
      const path = join(folder, file)
      makeFolder(dirname(path))
      await writeFile(path, text)
    }
    // Files of an earlier chart, for example of a Service that is not needed any more.
    for (const file of present.filter((one) => !files.has(one))) await rm(join(folder, file))
  } catch (error) {
    if (error instanceof KopfError) throw error
    const { code } = error as NodeJS.ErrnoException
    const isInTheWay = code === 'ENOTDIR' || code === 'EEXIST'
    throwChartError(folder, isInTheWay ? 'a file is in the way' : explainFileProblem(error), error)
  }
}

/** The files of a folder and the folders below it, with `/` between the names; none if the folder does not exist. */
async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return []
      throw error
    },
  )
  return entries
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name).slice(join(folder, '/').length).replaceAll('\\', '/'))
    .toSorted()
}

async function checkForeign(folder: string, present: readonly string[]): Promise<void> {
  const foreign: string[] = []
  for (const file of present) {
    const text = await readFile(join(folder, file), 'utf8')
    if (!text.slice(0, 500).includes(chartMark)) foreign.push(file)
  }
  if (foreign.length === 0) return
  throwChartError(
    folder,
    `it has files that are not of such a chart (${shorten(foreign)}); name a new folder, or move these files away`,
  )
}

function throwChartError(folder: string, why: string, cause?: unknown): never {
  throw new KopfError('KOPF_FILE', `Cannot write a chart into "${folder}": ${why}`, { cause })
}

/** Which files can be operators, by their endings. */
import { extname } from 'node:path'

const typescript = ['.ts', '.mts', '.cts', '.tsx', '.jsx']
const javascript = ['.js', '.mjs', '.cjs']

/** What Node cannot run as it is. */
export function needsCompiling(path: string): boolean {
  return typescript.includes(extname(path))
}

export function isProgram(path: string): boolean {
  return needsCompiling(path) || javascript.includes(extname(path))
}

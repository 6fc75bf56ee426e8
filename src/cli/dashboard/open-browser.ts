/** Opens a web page in the browser of the user. Called for `o` in `kopf dev`, and by `kopf dashboard`. */
import { startDetached } from '../../util/process/child-program.ts'
import { browserVariable } from '../environment.ts'

type Opener = readonly [file: string, ...args: string[]]

const openers: Readonly<Partial<Record<NodeJS.Platform, Opener>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** False if no program could be started: the user opens the address. The variable BROWSER names another program, or `none`. */
export async function openBrowser(url: string): Promise<boolean> {
  const browser = browserVariable()
  if (browser === 'none') return false
  const [file, ...args] = browser === undefined ? (openers[process.platform] ?? ['xdg-open']) : [browser]
  return await startDetached(file, [...args, url])
}

/** Where the browser is that the site is looked at with: the one named by `KOPF_CHROMIUM`, or that of the system. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Debian's is installed where that can be done without asking anybody: as root, in a container for tests. */
export function findChromium(): string {
  const named = process.env['KOPF_CHROMIUM']
  if (named !== undefined) {
    if (existsSync(named)) return named
    throw new Error(`Cannot look at the site: KOPF_CHROMIUM is "${named}", and there is no such file`)
  }
  const found = places.find((place) => existsSync(place))
  if (found !== undefined) return found
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    throw new Error(
      'Cannot look at the site: there is no Chromium; install it (Debian: apt-get install chromium), or say where it is by KOPF_CHROMIUM',
    )
  }
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  execFileSync('apt-get', ['update', '-q'], { env, stdio: 'ignore' })
  const packages = ['chromium', 'fonts-dejavu-core']
  execFileSync('apt-get', ['install', '-qy', '--no-install-recommends', ...packages], { env, stdio: 'ignore' })
  return places[0]!
}

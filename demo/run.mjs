// `npm run demo`: see `--help`, or start reading at workflows.mjs. This file uses nothing but Node, because on a
// fresh clone there is nothing else yet: it installs and builds what is missing, then hands over to main.mjs.

import { bootstrap } from '../scripts/bootstrap.mjs'

bootstrap()
const { main } = await import('./main.mjs')
process.exitCode = await main(process.argv.slice(2))

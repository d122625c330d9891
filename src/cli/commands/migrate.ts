import type { CommandSpec } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { escapeText } from '../format/escape.ts'
import { jsonText } from '../format/json.ts'
import { storeToMigrate } from '../open-store.ts'
import { flagOption } from '../options.ts'

/** `perdure migrate`. */
export const migrateCommand: CommandSpec = {
  usage: 'migrate',
  description: 'Create or update the tables of the store; workers do so too when they start',
  options: [['--dry-run', 'Only tell what would be done']],
  examples: ['perdure migrate --store postgres://localhost/shop --dry-run'],
  async action(context, _args, options) {
    const dryRun = flagOption(options, 'dryRun')
    const store = storeToMigrate(context, options)
    try {
      const steps = await store.migrate({ dryRun })
      const lines = steps.map(({ number, name }) => `  ${number}  ${escapeText(name)}`)
      context.out(
        context.json
          ? jsonText({ store: store.name, dryRun, steps })
          : [summary(store.name, steps.length, dryRun), ...lines].join('\n'),
      )
    } finally {
      await store.close()
    }
    return EXIT.ok
  },
}

function summary(name: string, count: number, dryRun: boolean): string {
  if (count === 0) return `${escapeText(name)} is up to date.`
  const steps = count === 1 ? '1 step' : `${count} steps`
  return dryRun
    ? `${escapeText(name)} needs ${steps}:`
    : `${escapeText(name)} was brought up to date in ${steps}:`
}

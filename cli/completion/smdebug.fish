# Completes smdebug in fish.
function __smdebug_command
    set -l words (commandline -opc)
    test (count $words) -gt 1; and contains -- $words[2] $argv
end

function __smdebug_tensors
    set -l words (commandline -opc)
    test (count $words) -gt 2; and smdebug ls $words[3] --names 2>/dev/null
end

function __smdebug_rules
    smdebug rules --list 2>/dev/null | string match -r '^[A-Z].*'
end

complete -c smdebug -n __fish_use_subcommand -f -a ls -d 'what a trial holds'
complete -c smdebug -n __fish_use_subcommand -f -a show -d 'a tensor over the steps, or its values at one'
complete -c smdebug -n __fish_use_subcommand -f -a rules -d 'evaluates the built-in rules over a trial'
complete -c smdebug -n __fish_use_subcommand -f -a report -d 'writes a page about a trial'
complete -c smdebug -n __fish_use_subcommand -f -a diff -d 'where two trials differ, and where first'
complete -c smdebug -n __fish_use_subcommand -f -a verify -d 'says what is damaged in a trial'
complete -c smdebug -n __fish_use_subcommand -f -a tensorboard -d 'writes a trial for stock TensorBoard'
complete -c smdebug -n __fish_use_subcommand -f -a doctor -d 'tries whether a place can be worked with'
complete -c smdebug -n __fish_use_subcommand -l version -d 'the version'
complete -c smdebug -s h -l help -d 'help'
complete -c smdebug -n '__smdebug_command ls show rules report diff verify tensorboard doctor' -l set -x -d 'an option of the library'
complete -c smdebug -n '__smdebug_command ls show rules diff verify doctor' -l json -d 'for programs'
complete -c smdebug -n '__smdebug_command ls' -l collection -x -d 'only its tensors'
complete -c smdebug -n '__smdebug_command ls diff' -l regex -x -d 'only tensors that match'
complete -c smdebug -n '__smdebug_command ls' -l names -d 'only names'
complete -c smdebug -n '__smdebug_command show diff' -l mode -x -a 'train eval predict global' -d 'the steps of this mode'
complete -c smdebug -n '__smdebug_command show' -f -a '(__smdebug_tensors)'
complete -c smdebug -n '__smdebug_command show' -l step -x -d 'the values at this step'
complete -c smdebug -n '__smdebug_command show' -l worker -x -d 'as this worker saved it'
complete -c smdebug -n '__smdebug_command show' -l reduction -x -d 'which numbers'
complete -c smdebug -n '__smdebug_command show' -l last -x -d 'rows for so many steps'
complete -c smdebug -n '__smdebug_command show rules diff' -l all -d 'leave nothing out'
complete -c smdebug -n '__smdebug_command doctor' -l config -r -d 'also check the configuration of a hook'
complete -c smdebug -n '__smdebug_command report' -s o -l output -r -d 'where the page is written'
complete -c smdebug -n '__smdebug_command rules report' -s r -l rule -x -a '(__smdebug_rules)' -d 'evaluate this rule'
complete -c smdebug -n '__smdebug_command rules report' -l profile -x -a 'aws calibrated' -d 'the defaults of parameters'
complete -c smdebug -n '__smdebug_command rules' -s f -l follow -d 'go on until the job ends'
complete -c smdebug -n '__smdebug_command rules' -l list -d 'the rules there are'
complete -c smdebug -n '__smdebug_command diff' -l atol -x -d 'how far numbers may lie apart'
complete -c smdebug -n '__smdebug_command diff' -l rtol -x -d 'how far, as a part'

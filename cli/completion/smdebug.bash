# Completes smdebug in bash.
_smdebug() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command=${COMP_WORDS[1]}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "ls show rules profile report serve diff query export verify tensorboard doctor help --help --version" -- "$current"))
    return
  fi
  if [[ $command == help ]]; then
    COMPREPLY=($(compgen -W "ls show rules profile report serve diff query export verify tensorboard doctor" -- "$current"))
    return
  fi
  case $previous in
    --mode) COMPREPLY=($(compgen -W "train eval predict global" -- "$current")); return ;;
    --rounding)
      COMPREPLY=($(compgen -W "auto float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2" -- "$current"))
      return ;;
    --rules) COMPREPLY=($(compgen -W "calibrated aws" -- "$current")); return ;;
    --profile) COMPREPLY=($(compgen -W "calibrated aws llm" -- "$current")); return ;;
    --reduction)
      COMPREPLY=($(compgen -W "min max median mean std variance sum prod l1 l2 abs_min abs_max
        abs_median abs_mean abs_std abs_variance abs_sum abs_prod abs_l1 abs_l2" -- "$current"))
      return ;;
    -r | --rule)
      if [[ $current == *,* ]]; then
        # RULE,PARAMETER=VALUE,PARA...
        compopt -o nospace 2>/dev/null
        local parameters
        parameters=$("${COMP_WORDS[0]}" rules --list 2>/dev/null |
          awk -v rule="${current%%,*}" '/^[^ ]/ { of = $0 == rule } of && /^    [^ ]/ { print $1 "=" }')
        COMPREPLY=($(compgen -P "${current%,*}," -W "$parameters" -- "${current##*,}"))
        return
      fi
      COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" rules --list 2>/dev/null | sed -n '/^[A-Z]/p')" -- "$current"))
      return ;;
    --collection)
      local IFS=$'\n'
      COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" ls "${COMP_WORDS[2]}" --collections 2>/dev/null)" -- "$current"))
      return ;;
    --format) COMPREPLY=($(compgen -W "table csv json parquet" -- "$current")); return ;;
    --table) COMPREPLY=($(compgen -W "tensors scalars" -- "$current")); return ;;
    -o | --output | --config | --timeline | --report-json | --profile-path | --unix | --tls-certificate | --tls-key) COMPREPLY=($(compgen -f -- "$current")); return ;;
    --port | --listen | --host | --on-finding) return ;;
    --set | --step | --last | --worker | --column | --regex | --atol | --rtol) return ;;
  esac
  if [[ $current == -* ]]; then
    local options="--help --set"
    case $command in
      ls) options+=" --collection --regex --names --collections --json" ;;
      show) options+=" --step --mode --worker --reduction --last --all --json" ;;
      report) options+=" --output --rule --profile --profile-path" ;;
      serve) options+=" --port --listen --unix --host --tls-certificate --tls-key --insecure --on-finding --rule --profile" ;;
      rules) options+=" --rule --profile --follow --all --list --json" ;;
      profile) options+=" --rules --rule --report-json --timeline --json" ;;
      diff) options+=" --atol --rtol --noise --rounding --regex --mode --all --json" ;;
      query) options+=" --output --format --compute --rule --profile" ;;
      export) options+=" --table --column --compute" ;;
      verify) options+=" --all --json" ;;
      doctor) options+=" --config --json" ;;
    esac
    COMPREPLY=($(compgen -W "$options" -- "$current"))
    return
  fi
  if [[ $command == show ]] && ((COMP_CWORD == 3)); then
    # A tensor's name may contain characters that end a word in bash.
    local IFS=$'\n'
    COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" ls "${COMP_WORDS[2]}" --names 2>/dev/null)" -- "$current"))
    return
  fi
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -d -- "$current"))
}
complete -F _smdebug smdebug

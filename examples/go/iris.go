package main

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// Fisher's irises: after a heading, each line holds four lengths in cm and the species.
//
//go:embed iris.csv
var irisCSV string

const (
	features = 4
	species  = 3
)

// loadIris returns the centred lengths, and the species as rows of 0 and 1.
func loadIris() (lengths, labels *mat.Dense, err error) {
	lines, err := csv.NewReader(strings.NewReader(irisCSV)).ReadAll()
	if err != nil {
		return nil, nil, err
	}
	lines = lines[1:]
	lengths = mat.NewDense(len(lines), features, nil)
	labels = mat.NewDense(len(lines), species, nil)
	for i, line := range lines {
		for j, field := range line[:features] {
			length, err := strconv.ParseFloat(field, 64)
			if err != nil {
				return nil, nil, fmt.Errorf("iris.csv, line %d: %w", i+2, err)
			}
			lengths.Set(i, j, length)
		}
		which, err := strconv.Atoi(line[features])
		if err != nil {
			return nil, nil, fmt.Errorf("iris.csv, line %d: %w", i+2, err)
		}
		labels.Set(i, which, 1)
	}
	for j := range features {
		column := mat.Col(nil, j, lengths)
		mean := mat.Sum(lengths.ColView(j)) / float64(len(column))
		for i := range column {
			column[i] -= mean
		}
		lengths.SetCol(j, column)
	}
	return lengths, labels, nil
}
